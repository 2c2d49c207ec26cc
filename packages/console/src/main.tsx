import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import './styles/index.css';
import { showCutText } from './cut-text.ts';
import { queryClient } from './queries.ts';
import { router } from './router.tsx';
import { applyTheme } from './theme.ts';

applyTheme();
showCutText();
const element = document.getElementById('root');
if (!element) throw new Error('The page has no root.');
createRoot(element).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
