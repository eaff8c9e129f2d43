/** A text that shows as `****` when it is printed, in JSON, and in `util.inspect`. */
export declare class Secret {
  constructor(text: string);
  /** Returns the text. */
  reveal(): string;
}

/**
 * The resource does not exist any more. A `delete` that throws it has succeeded. After an `update` that throws it, the resource is created
 * again.
 */
export declare class Gone extends Error {
  constructor(message?: string);
}

/** The properties of a resource are invalid. It never quotes a value, because that may be a secret. */
export declare class PropertiesError extends Error {
  readonly problems: readonly string[];
}

/**
 * The result of a method whose operation is not done. The library then calls `poll` until that returns something else. It waits within
 * the time of the function: 15 minutes on Lambda at most.
 */
export declare class InProgress<State = unknown> {
  constructor(progress?: {
    /** The `request.state` of the next call of `poll`. */
    state?: State;
    /** The physical ID of the resource that `create` has begun to make. If the operation fails, CloudFormation deletes it. */
    id?: string;
    /** Seconds until the next call of `poll`. Default: one second, then two, four, up to thirty. */
    after?: number;
  });
  readonly state: State;
  readonly id: string;
  readonly after?: number;
}

/** A property of the type T. `text`, `integer` and the others make one. */
export interface Field<T> {
  /** Exists in types only. */
  readonly __type?: T;
}

/** Rules of every field. A field without `default` and `optional` is required. */
export interface Rules<T> {
  /** The value if the template has none. */
  default?: T;
  /** The property may be missing, and is `undefined` then. */
  optional?: boolean;
  /** A change replaces the resource: the library calls `create`, and CloudFormation deletes the old one. */
  immutable?: boolean;
  /** The value must not appear in reasons, and makes answers with it NoEcho. `secret()` is so by itself. */
  secret?: boolean;
}

/** Bounds of a text in characters, of a list in items, or of a map in members. */
export interface LengthRules {
  minLength?: number;
  maxLength?: number;
}

/** Rules of a text. */
export interface TextRules<T = string> extends Rules<T>, LengthRules {
  /** The text must match it as a whole. */
  pattern?: RegExp;
}

/** Rules of a number. */
export interface NumberRules extends Rules<number> {
  min?: number;
  max?: number;
}

type Of<T, R> = Field<R extends { optional: true } ? T | undefined : T>;

/** A text. Numbers and booleans become texts, as CloudFormation makes them. */
export declare function text<const R extends TextRules>(rules?: R): Of<string, R>;
/** A text that is a {@link Secret}. Its default is a plain text. */
export declare function secret<const R extends TextRules>(rules?: R): Of<Secret, R>;
/** A whole number that JavaScript holds exactly. */
export declare function integer<const R extends NumberRules>(rules?: R): Of<number, R>;
/** A number. */
export declare function float<const R extends NumberRules>(rules?: R): Of<number, R>;
/** True or false, in any case. */
export declare function boolean<const R extends Rules<boolean>>(rules?: R): Of<boolean, R>;
/** One of several values. */
export declare function choice<const V extends string | number | boolean, const R extends Rules<V>>(values: readonly V[], rules?: R): Of<V, R>;
/** A list of items of one type. */
export declare function list<T, const R extends Rules<readonly T[]> & LengthRules>(item: Field<T>, rules?: R): Of<T[], R>;
/** An object with any names and members of one type. */
export declare function map<T, const R extends Rules<{ readonly [name: string]: T }> & LengthRules>(member: Field<T>, rules?: R): Of<{ [name: string]: T }, R>;
/** An object with fields of its own. */
export declare function object<const F extends Fields, const R extends Rules<never>>(fields: F, rules?: R): Of<Values<F>, R>;
/** Any value, unchecked and as CloudFormation sends it. */
export declare function any<const R extends Rules<unknown>>(rules?: R): Field<unknown>;

/** Fields by their names. */
export interface Fields {
  readonly [name: string]: Field<any>;
}

/** The type of the properties that some fields describe. */
export type Values<F extends Fields> = { -readonly [N in keyof F]: F[N] extends Field<infer T> ? T : never };

/** A request of CloudFormation. */
export interface Request<Properties> {
  readonly type: 'Create' | 'Update' | 'Delete' | 'Read' | 'Plan';
  /** The recorded physical ID. Empty for a Create, and for the Plan of one. */
  readonly id: string;
  /** The name of the resource in the template. */
  readonly logicalId: string;
  /** The type in the template, such as `Custom::Site`. */
  readonly resourceType: string;
  /** The ARN of the stack. */
  readonly stackId: string;
  /** The same when the request is delivered again. */
  readonly requestId: string;
  readonly properties: Properties;
  /** The state of the last {@link InProgress}, in a call of `poll`. */
  readonly state: unknown;
  /** 32 hexadecimal digits for APIs that take a client token. It is the same for every delivery of one request. */
  readonly token: string;
  /** A name for the resource that is the same in all its requests: stack, logical ID and twelve hexadecimal digits. */
  readonly name: string;
  /** Returns the seconds until the library answers FAILED for a method that has not returned. */
  remaining(): number;
}

/**
 * An Update. The old properties were accepted earlier, so a member that is missing or invalid is `undefined` there. An Update whose old
 * immutable properties cannot be read fails, because it is then unknown whether the resource must be replaced.
 */
export interface UpdateRequest<Properties> extends Request<Properties> {
  readonly oldProperties: Partial<Properties>;
}

/** A Plan. The old properties are `undefined` if the resource would be created. */
export interface PlanRequest<Properties> extends Request<Properties> {
  readonly oldProperties: Partial<Properties> | undefined;
  /** The paths of the immutable properties that change. The library announces a replacement because of them. */
  readonly immutable: readonly string[];
}

/** The present state of a resource: the result of `read`. */
export interface ReadResponse<Properties> {
  /**
   * The present properties. Copy those that cannot be read back from the request. An empty {@link Secret} counts as one. Values of secret
   * properties, and every other Secret, are not sent: the answer only reports whether they differ.
   */
  properties: Partial<Properties>;
  /** The attributes of a {@link Response}, for an imported resource. */
  attributes?: object;
  /** The `noEcho` of a {@link Response}. */
  noEcho?: boolean;
}

/** The result of `plan`. Nothing, and an empty object, mean that the resource is created or changed in place. */
export interface PlanResponse {
  /** True to announce that an Update will make a new resource. It has no effect for a Create. */
  replace?: boolean;
  /** The reason of the replacement, such as "the engine cannot be upgraded in place". At most 1,024 bytes of it are shown. */
  reason?: string;
}

/** The result of `create` and `update`. */
export interface Response {
  /** The physical ID. Default: the ID of the request for a Create, and the current ID for an Update. 1,024 bytes at most. */
  id?: string;
  /** The values that a template reads with Fn::GetAtt. Members that are null or undefined are left out. */
  attributes?: object;
  /**
   * True if an Update made a new resource with this ID. CloudFormation then deletes the old one. Without it, an Update that returns another
   * ID fails, because CloudFormation would delete the live resource.
   */
  replaces?: boolean;
  /** True to hide the attributes. A {@link Secret} in the attributes, or the value of a secret property, sets it too. */
  noEcho?: boolean;
  /** A text for the events of the stack. */
  reason?: string;
}

type Result<T> = T | InProgress<any> | void | Promise<T | InProgress<any> | void>;

/**
 * Manages one resource type. The methods must be idempotent, because a request can be delivered twice.
 *
 * An error makes the request FAILED, with its message as the reason. A `create` that throws has made nothing, so its Delete is answered
 * without a call. If something was made, throw an error with the physical ID in its member `id`.
 */
export interface Provider<F extends Fields> {
  /** The fields of the properties. Without them the properties are passed unchecked, as CloudFormation sends them. */
  properties?: F;
  /** Makes the resource. Also called for an Update that changes an immutable property, and for one that throws {@link Gone}. */
  create(request: Request<Values<F>>): Result<Response>;
  /** Changes the resource. A failed Update is followed by one in the other direction. */
  update(request: UpdateRequest<Values<F>>): Result<Response>;
  /** Deletes the resource. It is not an error if there is none. The properties are read as the old ones of an Update. */
  delete(request: Request<Partial<Values<F>>>): Result<Response>;
  /** Looks once whether an operation is done. Needed if another method returns {@link InProgress}. */
  poll?(request: Request<Partial<Values<F>>>): Result<Response>;
  /**
   * Returns the present state of the resource, and changes nothing. {@link Gone} reports that the resource does not exist. Only Pintle sends a
   * Read, to detect drift and to import resources. CloudFormation never does.
   */
  read?(request: Request<Partial<Values<F>>>): ReadResponse<Values<F>> | Promise<ReadResponse<Values<F>>>;
  /**
   * Predicts the effect of a Create or an Update with these properties, and changes nothing. The properties were checked. An error refuses the
   * change, with its message as the reason. {@link Gone} reports that the resource does not exist, so that an Update would make a new one. It
   * may be called while another request of the resource is in progress, and should return within seconds. Only Pintle sends a Plan: for a dry
   * run, for `pintle validate` and for change sets. CloudFormation never does.
   */
  plan?(request: PlanRequest<Values<F>>): PlanResponse | void | Promise<PlanResponse | void>;
}

/** The part of Lambda's context that the library uses. */
export interface Context {
  getRemainingTimeInMillis(): number;
}

/** Returns the function for AWS Lambda, for one provider or for several by resource type, such as `{"Custom::Site": sites}`. */
export declare function handler<F extends Fields>(provider: Provider<F>): (event: unknown, context?: Context) => Promise<unknown>;
export declare function handler(providers: { readonly [resourceType: string]: Provider<any> }): (event: unknown, context?: Context) => Promise<unknown>;
