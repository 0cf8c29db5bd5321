/**
 * Sends requests to the trajectory service with the token; failures become `SourceError`, and outcomes update
 * reachability.
 */
import type { Reach } from "./Reach.ts"
import { SourceError, type SourceErrorKind } from "./Source.ts"
import * as Token from "./Token.ts"

const kinds: { readonly [status: number]: SourceErrorKind } = {
  401: "unauthorized",
  403: "forbidden",
  404: "not-found",
  // Sent by a proxy if the service behind it fails.
  502: "unreachable",
  503: "unreachable",
  504: "unreachable"
}

export interface HttpRequests {
  /** Returns responses below 400; `path` is below `/v1`, query fields without a value are omitted. */
  readonly request: (path: string, query?: object, signal?: AbortSignal) => Promise<Response>
  /** Sends a body and ignores the response body. */
  readonly put: (path: string, body: object) => Promise<void>
  readonly remove: (path: string) => Promise<void>
  readonly json: <A>(path: string, query?: object, signal?: AbortSignal) => Promise<A>
}

export const make = (base: string, reach: Pick<Reach, "report">): HttpRequests => {
  const request = (path: string, query: object = {}, signal?: AbortSignal): Promise<Response> => {
    const search = new URLSearchParams(
      Object.entries(query).flatMap(([key, value]) =>
        value === undefined || value === null || value === "" ? [] : [[key, String(value)]]
      )
    ).toString()
    return send(`${path}${search === "" ? "" : `?${search}`}`, {}, signal)
  }

  const send = async (address: string, init: RequestInit, signal?: AbortSignal): Promise<Response> => {
    const bearer = Token.read()
    const headers = new Headers(init.headers)
    if (bearer !== null) headers.set("authorization", `Bearer ${bearer}`)
    const request = { ...init, headers, ...(signal !== undefined && { signal }) }
    const response = await fetch(`${base}/v1${address}`, request).catch((cause: unknown) => {
      if (signal?.aborted === true) throw cause
      throw unanswered()
    })
    const kind = response.ok ? null : (kinds[response.status] ?? "failed")
    reach.report(kind !== "unreachable")
    if (kind !== null) throw new SourceError(kind, await reasonOf(response))
    return response
  }

  const unanswered = (): SourceError => {
    reach.report(false)
    return new SourceError("unreachable", "The service does not respond.")
  }

  const json = async <A>(path: string, query?: object, signal?: AbortSignal): Promise<A> => {
    const response = await request(path, query, signal)
    // The service's responses match its definitions; groups, which come from third parties, are validated on use.
    return (await response.json().catch((cause: unknown) => {
      if (signal?.aborted === true) throw cause
      throw cause instanceof SyntaxError
        ? new SourceError("failed", "The service's response is not JSON.")
        : unanswered()
    })) as A
  }

  const put = async (path: string, body: object): Promise<void> => {
    const headers = { "content-type": "application/json" }
    await send(path, { method: "PUT", headers, body: JSON.stringify(body) })
  }

  const remove = async (path: string): Promise<void> => {
    await send(path, { method: "DELETE" })
  }

  return { json, put, remove, request }
}

/** The service's message (`{ error, message }`), otherwise the status. */
const reasonOf = async (response: Response): Promise<string> => {
  const body: unknown = await response.json().catch(() => null)
  return typeof body === "object" && body !== null && "message" in body && typeof body.message === "string"
    ? body.message
    : `The service responded with ${response.status} ${response.statusText}`.trim()
}
