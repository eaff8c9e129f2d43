// Makes ECMAScript modules fall back to NODE_PATH, as require does, and then to the built-in AWS SDK.

import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {basename, delimiter, dirname, join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

const BUILT_IN = 'pintle-aws:';
const SDK = /^@aws-sdk\/(client-[a-z0-9-]+|credential-providers)$/;

// EXPORTED matches every possible name of an SDK export.
const EXPORTED = /\b(?:[A-Z]|paginate[A-Z]|waitUntil[A-Z]|from[A-Z])[A-Za-z0-9]*\b/g;

let file; // the script that is run
let require;
let parents; // URLs from which what is in a folder node_modules of NODE_PATH is found as a module

export function initialize({here}) {
  file = here;
  require = createRequire(here);
  parents = (process.env.NODE_PATH || '').split(delimiter)
    .filter((folder) => basename(folder) === 'node_modules')
    .map((folder) => pathToFileURL(join(dirname(folder), 'index.mjs')).href);
}

export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND' || /^([./#]|\w+:)/.test(specifier)) throw error;
    for (const parentURL of parents) {
      try {
        return await next(specifier, {...context, parentURL});
      } catch {
        // It is not there either.
      }
    }
    try {
      return {url: pathToFileURL(require.resolve(specifier)).href, shortCircuit: true};
    } catch {
      if (!SDK.test(specifier)) throw error;
      return {url: `${BUILT_IN}${specifier}?${encodeURIComponent(context.parentURL || '')}`, format: 'module', shortCircuit: true};
    }
  }
}

// load generates the module for a package of the built-in SDK. A module must declare its exports, and the SDK has thousands. So the
// module exports every name in the importing file that could be one of them.
export async function load(url, context, next) {
  if (!url.startsWith(BUILT_IN)) return next(url, context);
  const [name, parent] = url.slice(BUILT_IN.length).split('?');
  const lines = [
    "import {createRequire as sdkRequire} from 'node:module';",
    `const sdk = sdkRequire(${JSON.stringify(file)})('./aws.cjs').packageOf(${JSON.stringify(name)});`,
    'export default sdk;',
    ...names(decodeURIComponent(parent)).map((exported, i) => `const sdk${i} = sdk.${exported}; export {sdk${i} as ${exported}};`),
  ];
  return {format: 'module', source: lines.join('\n'), shortCircuit: true};
}

function names(parent) {
  try {
    return [...new Set(readFileSync(fileURLToPath(parent), 'utf8').match(EXPORTED))];
  } catch {
    return []; // the parent is not a file
  }
}
