import type { Setup } from '../identity/sign-up/setup.ts';
import type { RunningService } from '../service.ts';
import type { Config } from '../settings/config.ts';

/** What a person reads once the service is up: its URL, and a transcript that can be pasted into a shell. */
export function toWelcome(config: Config, { setup }: RunningService): string {
  const database = config.database.kind === 'embedded' ? 'embedded database' : 'PostgreSQL';
  const { objectStore } = config;
  const objects = objectStore.kind === 'embedded' ? 'embedded object store' : `objects at ${objectStore.endpoint}`;
  return `
Cadiz is ready at ${config.publicUrl}
  ${database}, ${objects}${usesDataDir(config) ? `, data in ${config.dataDir}` : ''}
  Stop it with Ctrl-C.

${toNextSteps(config, setup)}
`;
}

function toNextSteps(config: Config, setup: Setup | undefined): string {
  if (setup && config.signUp === 'closed') return noFirstAccount(config, setup);
  return `${setup ? firstAccount(config, setup) : `Open the console at ${config.publicUrl} or paste this into a shell, with the e-mail address and password of your account:`}

${toTranscript(config, setup)}`;
}

function usesDataDir({ database, objectStore, secret }: Config): boolean {
  return database.kind === 'embedded' || objectStore.kind === 'embedded' || secret === undefined;
}

function firstAccount({ publicUrl }: Config, { token, asksEverybody }: Setup): string {
  return `Nobody has an account yet. Create the first one, which becomes the owner, in a browser:

  ${publicUrl}/setup#${token}

Or paste what follows into a shell. ${asksEverybody ? 'It needs' : 'From elsewhere or through a proxy, it needs'} the setup token ${token}`;
}

/** Signing up is refused, so neither the link nor the transcript would work. */
function noFirstAccount({ oidc }: Config, { token, asksEverybody }: Setup): string {
  if (!oidc || oidc.signUp === 'closed') {
    return 'Nobody has an account yet, and CADIZ_SIGN_UP=closed lets nobody create one. Start with CADIZ_SIGN_UP=first, which closes sign-up after the first account.';
  }
  return `Nobody has an account yet. As CADIZ_SIGN_UP is closed, the first person whom OIDC_SIGN_UP lets in becomes the owner.
${asksEverybody ? 'This needs' : 'From elsewhere or through a proxy, this needs'} the setup token ${token}, in the header X-Setup-Token of POST /api/auth/sign-in/social.`;
}

function toTranscript({ publicUrl }: Config, setup: Setup | undefined): string {
  const json = `-H 'Content-Type: application/json'`;
  const token = setup?.asksEverybody ? ` -H 'X-Setup-Token: ${setup.token}'` : '';
  const account = setup
    ? `curl -sS -c cadiz.cookies $CADIZ/api/auth/sign-up/email ${json}${token} \\
    -d '{"name":"Ada","email":"ada@example.com","password":"correct horse battery"}'; echo`
    : `curl -sS -c cadiz.cookies $CADIZ/api/auth/sign-in/email ${json} \\
    -d '{"email":"ada@example.com","password":"correct horse battery"}'; echo`;
  return `  CADIZ=${publicUrl}
  field() { sed -n 's/.*"'"$1"'":"\\([^"]*\\)".*/\\1/p'; }

  # ${setup ? 'Sign up' : 'Sign in'}, create a project, and an API key for it
  ${account}
  PROJECT=$(curl -sS -b cadiz.cookies $CADIZ/api/projects ${json} \\
    -d '{"name":"My app"}' | field id)
  KEY=$(curl -sS -b cadiz.cookies $CADIZ/api/api-keys ${json} \\
    -d '{"name":"My key","projectId":"'$PROJECT'"}' | field key)

  # Presign a URL, send the bytes straight to the object store, record the upload
  echo 'Hello from Cadiz' > hello.txt
  UPLOAD=$(curl -sS $CADIZ/api/storage/presign -H "Authorization: Bearer $KEY" ${json} \\
    -d '{"projectId":"'$PROJECT'","fileName":"hello.txt","mimeType":"text/plain","fileSize":17,"folderId":null}')
  curl -sS -T hello.txt "$(echo "$UPLOAD" | field presignedUrl)"
  curl -sS $CADIZ/api/storage/record -H "Authorization: Bearer $KEY" ${json} \\
    -d '{"projectId":"'$PROJECT'","storeKey":"'"$(echo "$UPLOAD" | field storeKey)"'","fileName":"hello.txt","mimeType":"text/plain","fileSize":17,"folderId":null}'; echo

  # List the project
  curl -sS "$CADIZ/api/storage/list?projectId=$PROJECT" -H "Authorization: Bearer $KEY"; echo`;
}
