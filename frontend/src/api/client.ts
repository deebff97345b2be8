// Typed access to the plugin's routes; URLs are relative to the page, so that any path prefix works.
import type { Documents } from "../base/documents";
import { ApiError, errorFromBody } from "./error";

type ParamValue = string | number | boolean | null | undefined;
export type Params = Readonly<Record<string, ParamValue>>;

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  /** Called with the headers of a successful response. */
  onHeaders?: ((headers: Headers) => void) | undefined;
}

export interface PostOptions {
  /** Sent even if the page is being left; for small bodies. */
  keepalive?: boolean;
}

export interface Client {
  /** The absolute URL of a route with its query, without null and undefined parameters. */
  url(route: string, params?: Params): string;
  /** GET, parsed as JSON. Throws ApiError; an aborted request throws the signal's reason. */
  json<T>(route: string, params?: Params, options?: RequestOptions): Promise<T>;
  /** GET, as bytes. Throws ApiError. */
  bytes(route: string, params?: Params, options?: RequestOptions): Promise<ArrayBuffer>;
  /** GET, as text. Throws ApiError. */
  text(route: string, params?: Params, options?: RequestOptions): Promise<string>;
  /** POST of JSON, for requests with effects; its header protects against cross-site requests. Parsed as JSON; throws ApiError. */
  post<T>(route: string, body: unknown, options?: PostOptions): Promise<T>;
}

export type Fetch = (input: string, init: RequestInit) => Promise<Response>;

/** Makes a client for the page at `base` (the address of index.html). */
export function makeClient(base: string, fetcher: Fetch = (input, init) => fetch(input, init)): Client {
  const url = (route: string, params: Params = {}): string => {
    const path = route.replace(/^\//, "");
    const target = new URL(path, base);
    for (const [key, value] of Object.entries(params)) {
      if (value !== null && value !== undefined) target.searchParams.set(key, String(value));
    }
    return target.href;
  };

  const send = async (address: string, request: RequestInit): Promise<Response> => {
    let response: Response;
    try {
      response = await fetcher(address, { credentials: "same-origin", ...request });
    } catch (error) {
      if (request.signal?.aborted) throw error;
      throw new ApiError(0, "unreachable", "The server did not answer.", {}, address);
    }
    if (!response.ok) throw errorFromBody(response.status, await response.text(), address);
    return response;
  };
  const get = async (route: string, params: Params, { signal, onHeaders }: RequestOptions): Promise<Response> => {
    const response = await send(url(route, params), signal ? { signal } : {});
    onHeaders?.(response.headers);
    return response;
  };
  const parsed = async <T>(response: Response): Promise<T> => {
    const text = await response.text();
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new ApiError(response.status, "bad_answer", "The response is not JSON.", {}, response.url);
    }
  };

  return {
    url,
    async json<T>(route: string, params: Params = {}, options: RequestOptions = {}): Promise<T> {
      return parsed<T>(await get(route, params, options));
    },
    async bytes(route, params = {}, options = {}) {
      return (await get(route, params, options)).arrayBuffer();
    },
    async text(route, params = {}, options = {}) {
      return (await get(route, params, options)).text();
    },
    async post<T>(route: string, body: unknown, options: PostOptions = {}): Promise<T> {
      const headers = { "Content-Type": "application/json", "X-Profile-Request": "1" };
      return parsed<T>(await send(url(route), { method: "POST", headers, body: JSON.stringify(body), ...options }));
    },
  };
}

/** What the page of a tool receives. Throws ApiError. */
export function documentOf<K extends keyof Documents>(
  client: Pick<Client, "json">,
  tag: K,
  params: Params,
  options?: RequestOptions,
): Promise<Documents[K]> {
  return client.json<Documents[K]>("page", { ...params, tag }, options);
}
