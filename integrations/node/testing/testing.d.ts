/** Settings of {@link startServer}. */
export interface ServerSettings {
  /** Flags of `pintle serve`, such as `["--project", "stacks"]`. Paths are relative to `cwd`. Default: none. */
  options?: readonly string[];
  /** The working directory of the server. Default: that of this process. */
  cwd?: string;
}

/** A running `pintle serve --dev`: a local CloudFormation and the services around it, on a port of 127.0.0.1. */
export interface Server {
  /** The endpoint of every service, such as `http://127.0.0.1:40997`. Pass it to AWS clients as `endpoint`. */
  readonly url: string;
  /** The region of the stacks. */
  readonly region: string;
  /** The access key for AWS clients in this process. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /**
   * The environment variables that point AWS clients in other processes at the server: `{...process.env, ...server.env}`. A variable
   * that must be removed is `undefined`.
   */
  readonly env: { readonly [name: string]: string | undefined };
  /**
   * Creates or updates a stack, waits until it is complete, and returns its outputs. Outputs that hold a secret, such as the value of a
   * NoEcho parameter, are `****`. If the stack does not complete, the error has the resource, the reason, and the end of the provider's
   * log.
   *
   * @param template a template of CloudFormation or ROS, as JSON or YAML text, or an object.
   * @param parameters the parameters of the stack. Default: none.
   */
  deploy(stack: string, template: string | object, parameters?: { readonly [name: string]: string }): Promise<{ [output: string]: string }>;
  /** Deletes a stack and waits until it is deleted. It is not an error if there is no such stack. */
  delete(stack: string): Promise<void>;
  /** Returns the output of the server. */
  output(): Promise<string>;
  /** Stops the server, waits until it has exited, and removes its data. More calls have no effect. */
  stop(): Promise<void>;
}

/**
 * Starts a server with its own data and waits until it serves. It rejects if pintle is not found, or if the server does not start within
 * a minute.
 *
 * The program is the first of these that exists: the path in the environment variable `PINTLE`, the one that npm installed with this
 * package, and `pintle` on `PATH`. Variables such as `PINTLE_DATABASE` do not set flags here. The server also stops if this process is
 * killed, or exits without `stop`.
 */
export function startServer(settings?: ServerSettings): Promise<Server>;
