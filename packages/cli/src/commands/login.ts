import { ask, askSecret, readInput } from '../ask.ts';
import type { Run } from '../command.ts';
import { readStored, readTarget, requireStorable, type StoredService, store, toServiceUrl } from '../config.ts';
import { type Context, clientOf, keyOf } from '../context.ts';
import { usageFailure } from '../failure.ts';
import { openBrowser, receiveKey } from '../receive-key.ts';
import { signIn } from '../sign-in.ts';

export const run: Run<'login'> = async (context, { args, options }) => {
  const url = args[0] ? toServiceUrl(args[0]) : (await readTarget(context.env)).url;
  const { hostname, protocol } = new URL(url);
  if (protocol === 'http:' && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
    context.output.warn(`${url} is not encrypted: whoever is on the way can read the credentials.`);
  await requireStorable(context.env);
  const known = (await readStored(context.env)).services[url] ?? {};
  if (options.account) await loginAccount(context, url, known);
  else await loginKey(context, url, known, !options['no-browser']);
};

async function loginKey(context: Context, url: string, known: StoredService, opens: boolean): Promise<void> {
  const { stdin, output, env } = context;
  const apiKey = stdin.isTTY ? await askBrowser(context, url, opens) : await readInput(stdin);
  if (!/^cz_live_\S+$/.test(apiKey)) throw usageFailure('This is not an API key: they begin with cz_live_.');
  const key = await keyOf(clientOf(context, { url, apiKey }), { url });
  const { projectId: _, ...rest } = known;
  await store(env, url, { ...rest, apiKey, ...(key.projectId && { projectId: key.projectId }) });
  output.print({ url, key }, '');
  output.say(`Signed in to ${url} with the key ${key.name}.`);
  if (!key.projectId) output.say('The key is tied to no project: choose one with cadiz projects use ID.');
}

/** Gets a key from whoever is signed in to the console in a browser; one can also be pasted. */
async function askBrowser(context: Context, url: string, opens: boolean): Promise<string> {
  const receiver = await receiveKey();
  const asking = new AbortController();
  try {
    const page = `${url}/command#${receiver.fragment}`;
    // Part of the question, so it is shown with --quiet, too.
    context.stderr.write(`Open this URL in a browser, and create a key for the command there:\n\n  ${page}\n\n`);
    if (opens) openBrowser(page, context.env);
    const pasted = askSecret(context, 'Or paste an API key here (it is not shown): ', asking.signal);
    return await Promise.race([receiver.key, pasted]);
  } finally {
    asking.abort();
    receiver.close();
  }
}

async function loginAccount(context: Context, url: string, known: StoredService): Promise<void> {
  if (!context.stdin.isTTY || !context.stderr.isTTY)
    throw usageFailure('A password is only asked for on a terminal. In a script, use an API key.');
  const email = await ask(context, `E-mail address for ${url}: `);
  const password = await askSecret(context, 'Password (it is not shown): ');
  const session = await signIn({
    url,
    email,
    password,
    askCode: () => askSecret(context, 'Code of the second factor, or a backup code: '),
  });
  const client = clientOf(context, { url, session });
  const { projects } = await client.request<{ projects: { id: string; name: string }[] }>({ path: '/api/projects' });
  const [only] = projects;
  const projectId = known.projectId ?? (projects.length === 1 ? only?.id : undefined);
  const { apiKey: _, ...rest } = known;
  await store(context.env, url, { ...rest, session, email, ...(projectId && { projectId }) });
  context.output.print({ url, email, projectId: projectId ?? null }, '');
  context.output.say(`Signed in to ${url} as ${email}.`);
  if (projects.length === 0) context.output.say('There is no project yet: cadiz projects create NAME --use');
  else if (!projectId) context.output.say('Choose a project with cadiz projects use NAME.');
}
