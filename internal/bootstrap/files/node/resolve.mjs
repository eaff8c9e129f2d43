// Lets ECMAScript modules find by NODE_PATH what they find nowhere else, as require does.

import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

let require;

export function initialize({here}) {
  require = createRequire(here);
}

export async function resolve(specifier, context, next) {
  try {
    return await next(specifier, context);
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND' || /^([./]|\w+:)/.test(specifier)) throw error;
    try {
      return {url: pathToFileURL(require.resolve(specifier)).href, shortCircuit: true};
    } catch {
      throw error;
    }
  }
}
