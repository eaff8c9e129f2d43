// A note in a file, on @pintle-dev/provider in TypeScript.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as pintle from '@pintle-dev/provider';

const properties = {
  Name: pintle.text({ immutable: true, pattern: /[a-z0-9-]+/ }),
  Text: pintle.text(),
  Lines: pintle.integer({ default: 1, min: 1, max: 100 }),
  Password: pintle.secret({ default: '' }),
};
type Note = pintle.Values<typeof properties>;

const file = (id: string) => join(process.env.NOTES!, `${id}.json`);

function put({ properties: { Name, Text, Lines, Password } }: pintle.Request<Note>): pintle.Response {
  writeFileSync(file(`note-${Name}`), JSON.stringify({ text: Text, lines: Lines, password: Password.reveal() }));
  return { id: `note-${Name}`, attributes: { Path: `/notes/${Name}` } };
}

function read({ id }: pintle.Request<Partial<Note>>): pintle.ReadResponse<Note> {
  let found: { text: string; lines: number; password: string };
  try {
    found = JSON.parse(readFileSync(file(id), 'utf8'));
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'ENOENT' ? new pintle.Gone(`${id} is gone`) : error;
  }
  const Name = id.slice('note-'.length);
  return {
    properties: { Name, Text: found.text, Lines: found.lines, Password: new pintle.Secret(found.password) },
    attributes: { Path: `/notes/${Name}` },
  };
}

export const handler = pintle.handler({
  properties,
  create: put,
  update: put,
  delete: ({ id }) => rmSync(file(id), { force: true }),
  read,
  plan({ properties: { Lines }, oldProperties }): pintle.PlanResponse {
    return { replace: Lines < (oldProperties?.Lines ?? 0) - 50, reason: 'a note cannot lose 50 lines' };
  },
});
