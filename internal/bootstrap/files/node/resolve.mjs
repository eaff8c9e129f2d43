// Lets ECMAScript modules find by NODE_PATH what they find nowhere else, as require does.

import {createRequire} from 'node:module';
import {basename, delimiter, dirname, join} from 'node:path';
import {pathToFileURL} from 'node:url';

let require;
let parents; // URLs from which what is in a folder node_modules of NODE_PATH is found as a module

export function initialize({here}) {
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
      throw error;
    }
  }
}
