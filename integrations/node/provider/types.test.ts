// The types of @pintle-dev/provider, as TypeScript 5 checks them: tsc --noEmit --strict. An error that is expected is a part of the test.
import { choice, handler, InProgress, integer, list, object, type Provider, secret, Secret, text, type Values } from './index';

const fields = {
  Name: text({ immutable: true, pattern: /[a-z0-9-]+/ }),
  Note: text({ optional: true }),
  Size: integer({ default: 1, min: 1, max: 100 }),
  Kind: choice(['small', 'large'], { default: 'small' }),
  Ports: list(integer(), { default: [] }),
  Owner: object({ Name: text(), Age: integer({ optional: true }) }),
  Key: secret({ default: '' }),
};

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same: Same<
  Values<typeof fields>,
  {
    Name: string;
    Note: string | undefined;
    Size: number;
    Kind: 'small' | 'large';
    Ports: number[];
    Owner: { Name: string; Age: number | undefined };
    Key: Secret;
  }
> = true;

export const main = handler({
  properties: fields,
  async create({ properties, remaining }) {
    const size: number = properties.Size + remaining();
    return { id: `site-${properties.Name}`, attributes: { Size: size, Same: same } };
  },
  update: ({ properties, oldProperties }) => new InProgress({ state: [properties.Kind, oldProperties.Name?.length] }),
  async delete({ id, properties }) {
    console.log(id, properties.Name?.length);
  },
  poll: ({ state }) => (state ? undefined : {}),
});

export const several = handler({ 'Custom::Site': { create() {}, update() {}, delete() {} } satisfies Provider<{}> });

handler({
  properties: fields,
  // @ts-expect-error: there is no such property
  create: ({ properties }) => ({ id: properties.Nmae }),
  update() {},
  delete() {},
});
// @ts-expect-error: there is no delete
handler({ properties: fields, create() {}, update() {} });
// @ts-expect-error: the default is a number
integer({ default: '1' });
// @ts-expect-error: a Secret is not a string
handler({ properties: fields, create: ({ properties }) => ({ id: properties.Key }), update() {}, delete() {} });
