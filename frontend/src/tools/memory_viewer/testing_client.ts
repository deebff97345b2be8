// A client for the tests of the module choice: peaks by module name, null for a module with an error.
import { makeClient } from "../../api/client";
import type { Client } from "../../api/client";

export function fakeModules(peaks: Readonly<Record<string, number | null>>): Client {
  return makeClient("http://host/p/index.html", (address) => {
    const url = new URL(address);
    if (url.pathname.endsWith("module_list")) return Promise.resolve(new Response(Object.keys(peaks).join(",")));
    const peak = peaks[url.searchParams.get("module_name") ?? ""] ?? null;
    const body = peak === null ? { error: { code: "no_data", message: "nothing" } } : { peak_bytes: peak };
    return Promise.resolve(new Response(JSON.stringify(body), { status: peak === null ? 404 : 200 }));
  });
}
