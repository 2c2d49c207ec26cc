import { FolderUp, Upload } from 'lucide-react';
import { useRef } from 'react';
import { Button } from '../../components/button.tsx';
import { text } from '../../text/text.ts';
import { upload } from './uploads.ts';

interface UploadButtonProps {
  projectId: string;
  folderId: string | null;
  /** Whether whole folders are picked. */
  isFolder?: boolean;
  label?: string;
  className?: string;
}

/** Lets somebody choose files, and uploads them into a folder. */
export function UploadButton({ projectId, folderId, isFolder = false, label, className }: UploadButtonProps) {
  const input = useRef<HTMLInputElement>(null);
  const { chooseFolder, upload: word } = text.uploads;
  return (
    <>
      <Button
        look={isFolder ? 'default' : 'main'}
        icon={isFolder ? FolderUp : Upload}
        className={className}
        onClick={() => input.current?.click()}
      >
        {label ?? (isFolder ? chooseFolder : word)}
      </Button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        data-folder={isFolder}
        {...(isFolder && { webkitdirectory: '' })}
        onChange={({ target }) => {
          void upload(projectId, folderId, [...(target.files ?? [])]);
          target.value = '';
        }}
      />
    </>
  );
}
