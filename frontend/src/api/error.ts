// The error of a failed request, as served by the backend or made here if there was no response.

interface ErrorDetails {
  file?: string;
  offset?: number;
  [key: string]: unknown;
}

/** A failed request: HTTP status (0 when there was no answer), a stable code, a sentence, and details. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: ErrorDetails = {},
    readonly url: string = "",
  ) {
    super(message);
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads `{"error": {code, message, details}}`; any other body becomes code `http_<status>`. */
export function errorFromBody(status: number, body: string, url: string): ApiError {
  try {
    const parsed: unknown = JSON.parse(body);
    if (isRecord(parsed) && isRecord(parsed["error"])) {
      const { code, message, details } = parsed["error"];
      return new ApiError(
        status,
        typeof code === "string" ? code : `http_${status}`,
        typeof message === "string" ? message : `The server answered ${status}.`,
        isRecord(details) ? details : {},
        url,
      );
    }
  } catch {
    // Not JSON: the response of a proxy or a crash, often an HTML page, so the text is shortened.
  }
  const text = /^\s*</.test(body) ? "" : body.trim().slice(0, 300);
  return new ApiError(status, `http_${status}`, text || `The server answered ${status}.`, {}, url);
}
