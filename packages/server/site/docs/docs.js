document.body.style.margin = '0';
Redoc.init(
  '/openapi.json',
  {
    hideDownloadButtons: false,
    hideLoading: true,
    expandResponses: '200',
    pathInMiddlePanel: true,
    theme: { typography: { fontFamily: 'system-ui, sans-serif', headings: { fontFamily: 'system-ui, sans-serif' } } },
  },
  document.body,
);
