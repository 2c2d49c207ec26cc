// @ts-check
// For runtimes that run a program: prints what happened as one line of JSON.
import process from 'node:process';
import { useClient } from './use-client.mjs';

console.log(JSON.stringify(await useClient(JSON.parse(process.argv[2] ?? ''))));
