/**
 * The table of commands: parsing, help, completion and docs/cli.md are all made from it. A command's code is loaded
 * only when it runs.
 */

/** One option of a command. */
export interface OptionSpec {
  type: 'boolean' | 'string';
  short?: string;
  multiple?: boolean;
  default?: string;
  /** What stands for its value in the help, such as `FOLDER`. */
  value?: string;
  /** What its value is, for completion. */
  kind?: 'local' | 'remote' | 'event';
  /** The values it can have, for the help and completion. */
  words?: readonly string[];
  /** One sentence, without its full stop. */
  help: string;
}

/** What an argument is, for completion. */
export type ArgumentKind = 'local' | 'remote' | 'either' | 'other';

export interface CommandSpec {
  /** In one line, beginning with a verb. */
  summary: string;
  /** As in a synopsis: `PATH...`. */
  arguments?: string;
  /** How many there must be, and may be. */
  counts?: readonly [number, number];
  kind?: ArgumentKind;
  options?: Record<string, OptionSpec>;
  /** Paragraphs. */
  description: readonly string[];
  examples?: readonly (readonly [command: string, what: string])[];
}

/** Options that every command has. */
export const globalOptions = {
  project: {
    type: 'string',
    value: 'PROJECT',
    help: 'the id or, for a signed-in account, the name of the project, instead of that of the key or of `cadiz projects use`',
  },
  json: { type: 'boolean', help: 'print data as JSON on standard output; words stay on standard error' },
  quiet: { type: 'boolean', short: 'q', help: 'no words on standard error but warnings and errors' },
  debug: { type: 'boolean', help: 'show every request with its status, duration and request id' },
  yes: { type: 'boolean', short: 'y', help: 'do not ask before something is deleted' },
  help: { type: 'boolean', short: 'h', help: 'show the manual of the command' },
} as const satisfies Record<string, OptionSpec>;

const recursive = { type: 'boolean', short: 'r', help: 'folders too, with everything in them' } as const;
const dryRun = { type: 'boolean', short: 'n', help: 'only show what would be done' } as const;
const links = { type: 'boolean', short: 'L', help: 'follow symbolic links, which are left out otherwise' } as const;
const checksum = {
  type: 'boolean',
  short: 'c',
  help: 'compare files that are on both sides by their bytes instead of size and time',
} as const;
const concurrency = {
  type: 'string',
  value: 'COUNT',
  help: 'how many files are transferred at the same time, from 1 to 64 (8)',
} as const;
const filters = {
  include: {
    type: 'string',
    multiple: true,
    value: 'PATTERN',
    help: 'only what matches, such as *.jpg or /2027/; can be repeated',
  },
  exclude: {
    type: 'string',
    multiple: true,
    value: 'PATTERN',
    help: 'not what matches, such as node_modules or *.tmp; can be repeated, and beats --include',
  },
} as const;
const ofFilters =
  'Patterns are those of .gitignore: * and ? stand for anything but a slash, ** for folders at any depth; a pattern with a slash at its beginning or in its middle begins at the folder that was named, others match at any depth, and one that ends with a slash matches folders only.';
const type = {
  type: 'string',
  multiple: true,
  value: 'TYPE',
  kind: 'event',
  help: 'only events of this type, such as file.created; can be repeated',
} as const;
const endpoint = {
  type: 'string',
  value: 'URL',
  help: 'the endpoint of S3, instead of AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or that of AWS',
} as const;
const ofFolders =
  'Folders whose names differ only in case, or in how accents are composed, are one in a project: where that puts two files of this machine in one place, the second fails.';
const ofTwins =
  'A file of the project that has the name of a folder beside it cannot be here as well: it is left out, and told, also by a dry run, and the command ends with 5; `cadiz download cadiz:id:ID --to NAME` fetches it.';
const ofS3 =
  'Credentials of S3 come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, the region from AWS_REGION, and the endpoint, if it is not that of AWS, from --endpoint or AWS_ENDPOINT_URL_S3.';
const unlimited = Number.MAX_SAFE_INTEGER;

const ofUsers =
  'Works on the database in the settings. With PostgreSQL, the service can keep running; the embedded database is open to one process only, so stop the service first.';

export const commands = {
  serve: {
    summary: 'Run the service, with its console, database and object store',
    options: {
      data: {
        type: 'string',
        value: 'FOLDER',
        kind: 'local',
        help: 'the data folder, instead of CADIZ_DATA_DIR (./data)',
      },
      port: { type: 'string', value: 'PORT', help: 'where it listens, instead of PORT (4000)' },
    },
    description: [
      'Runs until Ctrl-C. Without any setting, database and object store are embedded and in ./data; DATABASE_URL and S3_ENDPOINT replace them. Settings are environment variables, or in a file .env; docs/settings.md lists them. At the first start, prints a link that creates the first account.',
    ],
    examples: [['npx cadiz serve', 'in an empty folder']],
  },
  doctor: {
    summary: 'Test the object store in the settings, and whether links arrive',
    options: {
      fix: { type: 'boolean', help: "add what is missing to the bucket's CORS rules and policy, and check again" },
      origin: {
        type: 'string',
        multiple: true,
        value: 'ORIGIN',
        help: 'an origin whose pages must be able to upload, in addition to CADIZ_PUBLIC_URL; can be repeated',
      },
    },
    description: [
      'Tests the object store in the settings the way the service and its clients use it, and whether links reach the service, and says how to fix what is wrong. Everything it creates there, it removes. Ends with 1 if something failed. With --yes, --fix does not ask before changing anything.',
    ],
  },
  completion: {
    summary: 'Print a script that completes commands in a shell',
    arguments: 'bash|zsh|fish',
    counts: [1, 1],
    description: [
      'Completes commands, options and their values, files of this machine, and paths of the project, which are looked up in the service.',
    ],
    examples: [
      ['source <(cadiz completion bash)', 'in ~/.bashrc'],
      ['source <(cadiz completion zsh)', 'in ~/.zshrc, after compinit'],
      ['cadiz completion fish | source', 'in ~/.config/fish/config.fish'],
    ],
  },
  'users list': {
    summary: 'List all accounts',
    description: ['Also shows which e-mail addresses are not verified.', ofUsers],
  },
  'users reset-password': {
    summary: 'Set a new password',
    arguments: 'EMAIL',
    counts: [1, 1],
    options: { 'revoke-api-keys': { type: 'boolean', help: 'also revoke the API keys' } },
    description: ['Prints the new password once, ends all sessions and removes the passkeys.', ofUsers],
  },
  'users remove-second-factor': {
    summary: 'Remove a second factor that was lost',
    arguments: 'EMAIL',
    counts: [1, 1],
    description: ['The password alone then signs in. Ends all sessions.', ofUsers],
  },
  'users remove-passkeys': {
    summary: 'Remove all passkeys',
    arguments: 'EMAIL',
    counts: [1, 1],
    description: ['Ends all sessions.', ofUsers],
  },
  'users verify-email': {
    summary: 'Vouch for an e-mail address',
    arguments: 'EMAIL',
    counts: [1, 1],
    description: ['A reset by e-mail then keeps the second factor.', ofUsers],
  },
  'users end-sessions': {
    summary: 'End all sessions of an account',
    arguments: 'EMAIL',
    counts: [1, 1],
    description: ['Its API keys keep working.', ofUsers],
  },
  'users disable': {
    summary: 'Disable an account',
    arguments: 'EMAIL',
    counts: [1, 1],
    description: ['Ends all sessions, prevents sign-in and stops the API keys from working.', ofUsers],
  },
  'users enable': {
    summary: 'Enable an account again',
    arguments: 'EMAIL',
    counts: [1, 1],
    description: ['Its API keys work again; sessions do not come back.', ofUsers],
  },
  'users delete': {
    summary: 'Delete an account',
    arguments: 'EMAIL',
    counts: [1, 1],
    description: ['Asks, and deletes the account with its memberships and API keys; its uploads stay.', ofUsers],
  },
  'admin migrate': {
    summary: 'Bring the schema of the database up to date',
    options: { 'dry-run': dryRun },
    description: [
      'Applies the migrations that the database does not have yet, in one transaction. The service does so itself when it starts; run this before, with the settings of a role that owns the schema, if the service is to run without the right to change it. The embedded database is open to one process only, so stop the service first.',
    ],
  },
  'admin backup': {
    summary: 'Back up the database and the secrets of the service',
    arguments: 'FOLDER',
    counts: [1, 1],
    options: { objects: { type: 'boolean', help: 'the objects too, as copies that are verified' } },
    description: [
      'Writes the database as it is at one moment, and the secrets, to FOLDER on this machine, while the service runs. FOLDER is a new one, or that of an earlier backup, which stays whole until the new one is. Run it with the settings of the service, and with an embedded database as the user who runs the service.',
      'With --objects, the bytes of every file are copied after the database, also of files in the trash or in quarantine, but no variants of images, which the service makes again. A rerun copies only what the folder does not have yet. Files whose object is missing or has changed are named, and the command ends with 5. Without it, back the objects up yourself, after the database; it is refused in the folder of a backup with objects.',
      'The format is the same for both databases: restored into the other kind, it is the way from one to the other. FOLDER holds the secrets of the service and can be read by its owner only; keep it as secret as the service itself.',
    ],
    examples: [['cadiz admin backup /backups/cadiz', 'beside the running service']],
  },
  'admin restore': {
    summary: 'Restore a backup into an empty service',
    arguments: 'FOLDER',
    counts: [1, 1],
    options: { objects: { type: 'boolean', help: 'the objects too, into the object store in the settings' } },
    description: [
      'Verifies the backup in FOLDER, and writes it to the database in the settings, which must be empty: a new PostgreSQL database, or a data folder that no service has started on. In one transaction, so a restore that was interrupted has changed nothing and can be run again. The secrets go to the data folder, unless CADIZ_SECRET is set, which must then be the same. A backup of an earlier version is brought up to date.',
      'With --objects, the objects are stored first, so an interrupted restore goes on. Those that are missing in the backup or damaged are named, and the command ends with 5.',
    ],
    examples: [['CADIZ_DATA_DIR=restored cadiz admin restore /backups/cadiz', 'into a new data folder']],
  },
  'admin verify': {
    summary: 'Verify that a backup is whole',
    arguments: 'FOLDER',
    counts: [1, 1],
    options: { objects: { type: 'boolean', help: 'read every object too, and compare its SHA-256' } },
    description: [
      'Compares every part of the backup in FOLDER with its size, its SHA-256 and its number of rows. Needs no service and no settings. Ends with 1 if something is missing or damaged, and with 3 if there is no backup.',
    ],
  },
  'admin accept': {
    summary: 'Accept the objects of a bucket that was copied',
    options: {
      'dry-run': dryRun,
      unproved: {
        type: 'boolean',
        help: 'also objects of the right size whose bytes cannot be checked',
      },
    },
    description: [
      'Compares all files of all projects with their objects. Tools that copy a bucket may give large objects another ETag, since they copy them in other parts than they were uploaded in; such a file cannot be copied, backed up with --objects, or streamed by a link (LINKS_STREAM). Where only the ETag is another, the object is read, and if it has the SHA-256 or makes the ETag that was recorded, the file gets the ETag of its object.',
      'A file that has no object, or one with other bytes or another size, is named and stays as it is, and the command ends with 5. Stores that encrypt with keys of their own have ETags that prove nothing: --unproved accepts objects of the right size. The embedded database is open to one process only, so stop the service first.',
    ],
    examples: [['cadiz admin accept --dry-run', 'after rclone sync, with the settings of the new store']],
  },
  'queue list': {
    summary: 'Show the work of the queue',
    description: [
      'Shows how much work there is of each kind, and what was given up, with the reason (the newest thousand).',
      ofUsers,
    ],
  },
  'queue retry': {
    summary: 'Retry what was given up',
    arguments: '[KIND [ID]]',
    counts: [0, 2],
    description: ['Tries again what was given up: all of it, of one kind, or about one subject.', ofUsers],
  },

  upload: {
    summary: 'Upload files and folders',
    arguments: 'PATH...',
    counts: [1, unlimited],
    kind: 'local',
    options: {
      to: {
        type: 'string',
        value: 'FOLDER',
        kind: 'remote',
        help: 'the folder of the project, which is created if it is missing (cadiz:/)',
      },
      recursive,
      links,
      ...filters,
      'if-exists': {
        type: 'string',
        value: 'WHAT',
        words: ['replace', 'skip', 'keep', 'fail'],
        default: 'replace',
        help: 'what becomes of a name that another file has: `replace` moves that to the trash, `keep` keeps both',
      },
      checksum,
      'dry-run': dryRun,
      concurrency,
    },
    description: [
      'Uploads files, and with -r folders with everything in them, into a folder of the project. What is already there, with the same size and time of its last change, is not uploaded again: so the same command goes on after Ctrl-C or a failure. Files of 64 MiB or more are sent in parts, and go on with the parts that are missing.',
      'Each file is sent with its SHA-256, and the store refuses other bytes. A file that changes while it is read fails, and the others go on. Symbolic links are left out without --links. The time of the last change is kept in the metadata of the file, as `mtime`, and the SHA-256 of the bytes that it is of, as `mtime-of`: a file that is replaced elsewhere keeps its metadata, and is then compared by its bytes.',
      ofFolders,
      ofFilters,
    ],
    examples: [
      ['cadiz upload launch.mp4 --to cadiz:/press', 'one file'],
      ['cadiz upload -r photos', 'a folder, which becomes cadiz:/photos'],
      ['cadiz upload -r app --exclude node_modules --exclude "*.log"', 'a folder without some things in it'],
    ],
  },
  download: {
    summary: 'Download files and folders',
    arguments: 'PATH...',
    counts: [1, unlimited],
    kind: 'remote',
    options: {
      to: {
        type: 'string',
        value: 'FOLDER',
        kind: 'local',
        help: 'where to, or for a single file, also its new name (.)',
      },
      recursive,
      ...filters,
      'if-exists': {
        type: 'string',
        value: 'WHAT',
        words: ['fail', 'replace', 'skip'],
        default: 'fail',
        help: 'what becomes of another file on this machine that has the name',
      },
      checksum,
      'dry-run': dryRun,
      concurrency,
    },
    description: [
      'Downloads files, and with -r folders with everything in them. Each is written under a name of its own (.cadiz-ID.part), compared with its size and, where there is one, its checksum, and only then gets its name and the time of its last change. What is already here is not downloaded again, and a file that was interrupted goes on where it ended.',
      ofTwins,
      ofFilters,
    ],
    examples: [
      ['cadiz download cadiz:/press/launch.mp4', 'one file, into this folder'],
      ['cadiz download -r cadiz:/ --to backup', 'the whole project'],
    ],
  },
  sync: {
    summary: 'Make one folder like another',
    arguments: 'SOURCE TARGET',
    counts: [2, 2],
    kind: 'either',
    options: {
      delete: { type: 'boolean', help: 'delete what is in TARGET and not in SOURCE; asks before that' },
      checksum,
      links,
      ...filters,
      'dry-run': dryRun,
      concurrency,
    },
    description: [
      'One of SOURCE and TARGET is a folder of the project and begins with cadiz:, the other a folder on this machine. TARGET is created if it is missing. Prints what it does, one line for each file, and does it; with --dry-run, it only prints the same lines. A second sync does nothing.',
      'A file is the same if its size and the time of its last change are, or with --checksum its bytes. Times count as precisely as the file system here keeps them. On the way up, a file of the project that was recorded without this time is compared by its bytes. What is replaced or deleted in the project goes to the trash; what is deleted on this machine is gone. What was left out because it is a symbolic link, or cannot be read, is never deleted on the other side. Of files that share a path, the newest counts. Two syncs to the project at the same time both upload what neither finds there; one with --delete removes the older copies.',
      ofFolders,
      ofTwins,
      `${ofFilters} What they leave out is left alone on both sides, also with --delete.`,
    ],
    examples: [
      ['cadiz sync --delete site cadiz:/site', 'uploads what has changed, and deletes what is gone'],
      ['cadiz sync cadiz:/photos ~/photos --dry-run', 'what would be downloaded'],
    ],
  },
  export: {
    summary: 'Export files with everything that is known of them',
    arguments: 'TARGET [PATH]',
    counts: [1, 2],
    kind: 'local',
    options: { endpoint, 'dry-run': dryRun, concurrency },
    description: [
      'TARGET is a folder on this machine, or s3://BUCKET/PREFIX.',
      'Copies everything beneath PATH (cadiz:/) to TARGET/files, and writes TARGET/manifest.jsonl: one JSON document on each line, with path, size, SHA-256, media type, metadata, externalId and times of each file. Files that share a path are all exported. The same command goes on with an export that was interrupted, and brings an older one up to date. `cadiz import` reads it.',
      `To S3, the bytes go through this machine without being stored here. They are compared with the checksum that the project has, and the bucket compares what it gets with a SHA-256. ${ofS3}`,
    ],
    examples: [
      ['cadiz export backup', 'the whole project'],
      ['cadiz export s3://backups/media --endpoint https://s3.example.com', 'to a bucket'],
    ],
  },
  import: {
    summary: 'Import an export, or files of S3, Supabase or UploadThing',
    arguments: 'SOURCE',
    counts: [1, 1],
    kind: 'local',
    options: {
      to: {
        type: 'string',
        value: 'FOLDER',
        kind: 'remote',
        help: 'the folder of the project, which is created if it is missing (cadiz:/)',
      },
      endpoint,
      'dry-run': dryRun,
      concurrency,
    },
    description: [
      'SOURCE is a folder that `cadiz export` has written, its manifest, s3://BUCKET/PREFIX, supabase, supabase://BUCKET/FOLDER, or uploadthing. What is there already is not imported again, so the same command goes on after Ctrl-C or a failure. From another service, the bytes go through this machine without being stored here, and what is stored in the end is compared with what was read.',
      'From an export, on this machine or in S3, each file is compared with the SHA-256 of the manifest and sent with it, and gets its type, metadata and externalId. Ids, links and times of creation are new.',
      `From S3, prefixes become folders, and objects keep their media type, their metadata and, as \`mtime\`, the time of their last change, with the MD5 of their bytes as \`mtime-of\` where it is known. They are imported exactly as stored: an object with a Content-Encoding stays compressed. They are compared by size and, where the ETag is one, by MD5. ${ofS3}`,
      'From Supabase Storage, `supabase` takes all buckets, which become folders. Files keep their media type, their metadata and the time of their last change. SUPABASE_URL is the URL of the project, and SUPABASE_SERVICE_ROLE_KEY its secret key, which is asked for or read from standard input if it is not set.',
      'From UploadThing, all files of the app come into one folder, since it has no others, with their customId as externalId and their key as `uploadthing-key` in the metadata. UPLOADTHING_TOKEN is the token of the app, which is asked for or read from standard input if it is not set.',
      'Whatever a project cannot store is dropped: nested metadata, metadata beyond 32 keys or 4 KiB, and a customId longer than 255 bytes. An invalid media type becomes application/octet-stream.',
    ],
    examples: [
      ['cadiz import backup --to cadiz:/restored', 'what cadiz export has written'],
      ['cadiz import s3://media/photos/ --to cadiz:/photos', 'from S3'],
      ['cadiz import supabase --dry-run < key.txt', 'what would come from Supabase'],
    ],
  },
  login: {
    summary: 'Sign in to a service',
    arguments: '[URL]',
    counts: [0, 1],
    options: {
      account: { type: 'boolean', help: 'sign in with e-mail address and password instead of an API key' },
      'no-browser': { type: 'boolean', help: 'open no browser, and only show the URL' },
    },
    description: [
      'Stores an API key for the service at URL (CADIZ_URL, or http://localhost:4000), which becomes the service that other commands use. On a terminal, the command opens the console in a browser: whoever is signed in there creates a key for it, which goes from the browser to the command without being shown. A key can also be pasted: on a machine without a browser, open the URL elsewhere and let the console show the key. If standard input is no terminal, the key is read from there.',
      'With --account, asks for the e-mail address, the password and, if there is one, the code of the second factor, and stores the session instead. Commands that manage projects and keys need that; a session ends by itself after at most thirty days. An account that has no password, but signs in with a passkey or through an issuer, signs in to the console, and lets the command have a key.',
      'Credentials are stored in $XDG_CONFIG_HOME/cadiz/credentials.json (~/.config/cadiz), which only you can read.',
    ],
    examples: [
      ['cadiz login https://media.example.com', 'through a browser'],
      ['cadiz login https://media.example.com < key.txt', 'in a script'],
      ['cadiz login --account', 'to manage projects and keys'],
    ],
  },
  logout: {
    summary: 'Forget the credentials of a service',
    arguments: '[URL]',
    counts: [0, 1],
    description: [
      'Removes the key from this machine, and ends the session if there is one. The key itself keeps working until it is revoked.',
    ],
  },
  status: {
    summary: 'Show which service, project and credentials are used',
    description: [
      'Asks the service whether it accepts the credentials, what they allow, and how much the project stores. Ends with 4 if nobody is signed in.',
    ],
  },
  'projects list': {
    summary: 'List projects',
    description: ['Lists all projects of a signed-in account; with a key, the one that the key is tied to.'],
  },
  'projects create': {
    summary: 'Create a project',
    arguments: 'NAME',
    counts: [1, 1],
    options: { use: { type: 'boolean', help: 'use it from now on' } },
    description: ['Creates a project and prints its id. Needs a signed-in account.'],
  },
  'projects use': {
    summary: 'Choose the project that other commands use',
    arguments: 'PROJECT',
    counts: [1, 1],
    description: [
      'PROJECT is an id or, for a signed-in account, a name. CADIZ_PROJECT_ID and --project take precedence.',
    ],
  },
  'keys list': {
    summary: 'List the API keys of the project',
    description: ['Lists the keys that a signed-in account can see; with a key, what that key is.'],
  },
  'keys create': {
    summary: 'Create an API key',
    arguments: 'NAME',
    counts: [1, 1],
    options: {
      scope: {
        type: 'string',
        multiple: true,
        value: 'SCOPE',
        words: ['files:read', 'files:write', 'files:delete'],
        help: 'what it may do; can be repeated. Everything by default',
      },
      folder: { type: 'string', value: 'PATH', kind: 'remote', help: 'tie it to a folder' },
      expires: { type: 'string', value: 'TIME', help: 'when it ends by itself, such as 30d' },
    },
    description: [
      'Prints the key on standard output, once: `cadiz keys create ci > key.txt`. Needs a signed-in account.',
    ],
  },
  'keys revoke': {
    summary: 'Revoke an API key for good',
    arguments: 'ID',
    counts: [1, 1],
    description: ['It stops working immediately. Needs a signed-in account.'],
  },
  ls: {
    summary: 'List a folder',
    arguments: '[PATH]',
    counts: [0, 1],
    kind: 'remote',
    options: {
      long: { type: 'boolean', short: 'l', help: 'with size, time, type and id' },
      recursive: { type: 'boolean', short: 'R', help: 'everything in its folders too, with paths' },
    },
    description: ['Lists what is in a folder, folders first, or one file. Names of folders end with a slash.'],
    examples: [
      ['cadiz ls', 'the root of the project'],
      ['cadiz ls -l cadiz:/press', 'with details'],
    ],
  },
  tree: {
    summary: 'Show folders and files as a tree',
    arguments: '[PATH]',
    counts: [0, 1],
    kind: 'remote',
    options: {
      level: { type: 'string', short: 'L', value: 'DEPTH', help: 'no deeper than that' },
      folders: { type: 'boolean', short: 'd', help: 'folders only' },
    },
    description: ['Shows everything beneath a folder, with the number of files and their size at the end.'],
  },
  cat: {
    summary: 'Print files',
    arguments: 'PATH...',
    counts: [1, unlimited],
    kind: 'remote',
    description: [
      'Writes the bytes of files to standard output, one after the other, and compares them with size and checksum. Fails at the end if they differ.',
    ],
    examples: [['cadiz cat cadiz:/logs/today.txt | grep error', 'reads a file without storing it']],
  },
  mv: {
    summary: 'Move or rename files and folders',
    arguments: 'SOURCE... TARGET',
    counts: [2, unlimited],
    kind: 'remote',
    description: [
      'Moves into TARGET if that is a folder; otherwise SOURCE gets that path and name. Links to a file keep working. A name that is taken is refused: delete the file there first. A folder can get its own name in another case.',
    ],
    examples: [
      ['cadiz mv cadiz:/draft.pdf cadiz:/press/', 'into a folder'],
      ['cadiz mv cadiz:/draft.pdf cadiz:/final.pdf', 'renames'],
    ],
  },
  rm: {
    summary: 'Delete files and folders',
    arguments: 'PATH...',
    counts: [1, unlimited],
    kind: 'remote',
    options: { recursive, 'dry-run': dryRun },
    description: [
      'Shows how much it is, asks, and moves it to the trash, from which `cadiz trash restore` brings it back until it expires there.',
    ],
    examples: [['cadiz rm -r cadiz:/drafts', 'a folder with everything in it']],
  },
  mkdir: {
    summary: 'Create folders',
    arguments: 'PATH...',
    counts: [1, unlimited],
    kind: 'remote',
    options: {
      parents: {
        type: 'boolean',
        short: 'p',
        help: 'create missing parents too; a folder that exists is not an error',
      },
    },
    description: ['Creates folders and prints their ids.'],
  },
  url: {
    summary: 'Print a URL that serves a file for a while',
    arguments: 'PATH...',
    counts: [1, 1000],
    kind: 'remote',
    options: {
      expires: { type: 'string', value: 'TIME', help: 'how long it works, up to 7d (1h)' },
      inline: { type: 'boolean', help: 'show pictures, audio, video and text in a browser instead of saving them' },
    },
    description: [
      'Prints a signed URL of the object store for each file. Whoever has it can read the file until it expires; it cannot be revoked. For a URL that can be, use `cadiz link`.',
    ],
    examples: [['curl "$(cadiz url --expires 10m cadiz:/backup.tar)" | tar x', 'reads a file elsewhere']],
  },
  link: {
    summary: 'Create a link to a file for the public',
    arguments: 'PATH',
    counts: [1, 1],
    kind: 'remote',
    options: {
      expires: { type: 'string', value: 'TIME', help: 'when it ends by itself, such as 30d. Never by default' },
      inline: { type: 'boolean', help: 'show pictures, audio, video and text in a browser instead of saving them' },
    },
    description: [
      'Prints a permanent URL that follows the file when it is renamed, moved or replaced, until the link is deleted.',
    ],
  },
  'links list': {
    summary: 'List links',
    arguments: '[PATH]',
    counts: [0, 1],
    kind: 'remote',
    description: ['Lists the links of a file, or all of the project.'],
  },
  'links delete': {
    summary: 'Delete links',
    arguments: 'ID...',
    counts: [1, unlimited],
    description: ['They stop working at once.'],
  },
  ticket: {
    summary: 'Create a ticket for uploads from a browser or a phone',
    arguments: '[FOLDER]',
    counts: [0, 1],
    kind: 'remote',
    options: {
      files: { type: 'string', value: 'COUNT', help: 'how many files, up to 10000 (1)' },
      bytes: { type: 'string', value: 'SIZE', help: 'how much together, such as 500MB (100MB)' },
      'file-bytes': { type: 'string', value: 'SIZE', help: 'how large one file may be' },
      type: { type: 'string', multiple: true, value: 'TYPE', help: 'media types, such as image/*; can be repeated' },
      origin: { type: 'string', multiple: true, value: 'ORIGIN', help: 'pages that may use it; can be repeated' },
      expires: { type: 'string', value: 'TIME', help: 'when it ends, from 1m to 1d (15m)' },
    },
    description: [
      'Prints a ticket on standard output, once. It uploads into FOLDER, within its budget, and can do nothing else.',
    ],
    examples: [['cadiz ticket cadiz:/inbox --files 20 --bytes 1GB --type "image/*"', 'for twenty pictures']],
  },
  'tickets list': {
    summary: 'List tickets',
    description: ['Lists the tickets of the project, with what is left of them.'],
  },
  'tickets revoke': {
    summary: 'Revoke a ticket',
    arguments: 'ID',
    counts: [1, 1],
    description: ['It stops working immediately. What was uploaded with it stays.'],
  },
  events: {
    summary: 'Show what happens in the project',
    options: {
      follow: { type: 'boolean', short: 'f', help: 'go on with what happens from now on, until Ctrl-C' },
      since: {
        type: 'string',
        value: 'WHEN',
        help: 'what came after a number that was shown (`seq`), after a time such as 2027-01-31T12:00Z, or in the last 15m, 2h or 7d',
      },
      type,
    },
    description: [
      'Prints the events of the project, the oldest first: when, what, about what, and who; with --json, one JSON document on each line. Without --since, everything that is kept, or with --follow only what happens from now on. docs/events.md lists the types.',
      'With --follow, it waits until the service can be reached again if the connection breaks, and misses nothing. On Ctrl-C, it says how to go on.',
    ],
    examples: [
      ['cadiz events --since 1h', 'the last hour'],
      ['cadiz events --follow --type file.created --json | jq .data.fileName', 'the names of files as they arrive'],
    ],
  },
  listen: {
    summary: 'Send events to a server on this machine, as webhooks do',
    options: {
      'forward-to': { type: 'string', value: 'URL', help: 'where to, such as http://localhost:3000/hooks' },
      since: { type: 'string', value: 'WHEN', help: 'begin earlier than now; as for `cadiz events`' },
      type,
    },
    description: [
      'For development: posts each event to URL, with the body and the headers of a webhook (docs/webhooks.md), and shows what was answered, and how fast. The service need not be able to reach this machine.',
      'Prints the secret that deliveries are signed with. It is made once and stored in $XDG_CONFIG_HOME/cadiz/webhook-secret (~/.config/cadiz), which only you can read; CADIZ_WEBHOOK_SECRET replaces it. A server that cannot be reached gets four more attempts within about 15 seconds; then the next event follows. Ctrl-C ends it, and says how to go on.',
    ],
    examples: [['cadiz listen --forward-to http://localhost:3000/hooks', 'every event from now on']],
  },
  'trash list': {
    summary: 'List what can be restored',
    description: ['Lists what was deleted, newest first, with the path that it had and until when it can be restored.'],
  },
  'trash restore': {
    summary: 'Restore files and folders from the trash',
    arguments: 'ID...',
    counts: [1, unlimited],
    description: [
      'Takes ids as `cadiz trash list` shows them, also as cadiz:id:ID. A folder comes back with everything that was deleted with it.',
    ],
  },
  'trash empty': {
    summary: 'Purge what is in the trash',
    description: ['Shows how much it is, and asks. Nothing of it can be restored afterwards.'],
  },
} as const satisfies Record<string, CommandSpec>;

export type Commands = typeof commands;
export type CommandName = keyof Commands;

type OptionsOf<K extends CommandName> = Commands[K] extends { options: infer O }
  ? O & typeof globalOptions
  : typeof globalOptions;
type TextOf<S> = S extends { words: readonly (infer W)[] } ? W : string;
type ValueOf<S> = S extends { type: 'boolean' }
  ? boolean
  : S extends { multiple: true }
    ? TextOf<S>[]
    : S extends { default: string }
      ? TextOf<S>
      : TextOf<S> | undefined;

/** The arguments and options that a command was given. */
export interface Given<K extends CommandName> {
  name: K;
  args: string[];
  options: { [O in keyof OptionsOf<K>]: ValueOf<OptionsOf<K>[O]> };
}

/** Groups of commands, and what they are about. `cadiz keys` alone is `cadiz keys list`. */
export const groups: Record<string, string> = {
  projects: 'List, create and choose projects',
  keys: 'List, create and revoke API keys',
  links: 'List and delete links',
  tickets: 'List and revoke tickets',
  trash: 'List, restore and purge what was deleted',
  users: 'Manage the accounts of a service on this machine',
  admin: 'Look after the database of a service on this machine',
  queue: 'Show and retry work of a service on this machine',
};

/** The commands in the order and under the titles of the overview. */
export const sections: readonly (readonly [title: string, names: readonly (CommandName | keyof typeof groups)[]])[] = [
  ['Transfer', ['upload', 'download', 'sync', 'export', 'import']],
  ['Files', ['ls', 'tree', 'cat', 'mv', 'rm', 'mkdir', 'trash']],
  ['Sharing', ['url', 'link', 'links', 'ticket', 'tickets']],
  ['Events', ['events', 'listen']],
  ['Sign in', ['login', 'logout', 'status', 'projects', 'keys']],
  ['Run a service', ['serve', 'doctor', 'users', 'queue', 'admin']],
  ['Shell', ['completion']],
];

export const environment: readonly (readonly [name: string, what: string])[] = [
  ['CADIZ_URL', 'the service, instead of the one of `cadiz login`'],
  ['CADIZ_API_KEY', 'the key, instead of stored credentials'],
  ['CADIZ_PROJECT_ID', 'the project, as with --project, instead of the chosen one'],
  ['CADIZ_WEBHOOK_SECRET', 'what `cadiz listen` signs with, instead of the stored secret'],
  [
    'AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN',
    'the credentials of S3 to import from, or to export to',
  ],
  ['AWS_REGION, AWS_ENDPOINT_URL_S3', 'its region and its endpoint'],
  ['SUPABASE_URL, SUPABASE_SERVICE_ROLE_KEY', 'Supabase to import from'],
  ['UPLOADTHING_TOKEN', 'UploadThing to import from'],
  ['XDG_CONFIG_HOME, XDG_STATE_HOME', 'where credentials, and uploads to be resumed, are stored'],
  ['HTTP_PROXY, HTTPS_PROXY, NO_PROXY', 'the proxy, if `NODE_USE_ENV_PROXY=1` is set, too, with Node 24.5 or newer'],
  ['NODE_EXTRA_CA_CERTS', 'a file with certificate authorities of your own'],
  ['NO_COLOR', 'if set, no colours'],
];

export const exitStatus: readonly (readonly [code: number, what: string])[] = [
  [0, 'done'],
  [1, 'failed'],
  [2, 'wrong arguments or options'],
  [3, 'something that was named does not exist'],
  [4, 'nobody is signed in, or the credentials are refused'],
  [5, 'some files failed, and the others are done; run the command again to retry those that failed'],
  [130, 'interrupted with Ctrl-C; run the command again to continue'],
  [143, 'ended by SIGTERM, as by a service manager; run the command again to continue'],
];
