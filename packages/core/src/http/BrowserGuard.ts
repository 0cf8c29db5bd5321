/**
 * Protects a server without tokens from web pages: a browser reaches this machine, so any page it shows could.
 *
 * - `Host`: a page whose domain was pointed at this machine (DNS rebinding) still sends its own name. Accepted are
 *   loopback names, and 0.0.0.0, which programs also use for this machine; if the server listens for other machines,
 *   also the address it was bound to, IP addresses (no domain turns into one) and this machine's name; and the names in
 *   `ATROPOS_ALLOWED_HOSTS`.
 * - `Origin` and `Sec-Fetch-Site`: requests that change something, or open a socket, which browsers allow every page,
 *   are accepted from pages of this machine and of the server itself, but not of other sites.
 *
 * Programs send no origin, but must also address the server by one of its names. A server with tokens needs no guard,
 * because pages do not have one.
 */
import { Config, Effect, Layer, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { hostname } from "node:os"

/** `ATROPOS_ALLOWED_HOSTS` contains an invalid host name. */
export class BrowserGuardError extends Schema.TaggedError<BrowserGuardError>()("BrowserGuardError", {
  message: Schema.String
}) {}

export interface Options {
  readonly host: string
  /** The setting for tokens, if there is one. */
  readonly tokens?: string
  /** Paths whose GET changes something: in lower case, without escapes, double slashes and trailing slash. */
  readonly changingReads?: RegExp
  /** Pages that may call in addition to the server's own. Default: those of this machine. */
  readonly isAllowedOrigin?: (origin: string) => boolean
  /** The rejection as a response. Default: `{ "error": "Forbidden", "message" }`. */
  readonly refuse?: (message: string) => HttpServerResponse.HttpServerResponse
}

/** The part of a request that the guard reads. */
export interface RequestHead {
  readonly method: string
  readonly url: string
  readonly headers: { readonly [name: string]: string | undefined }
}

/** The name in a `Host`, without its port, normalized as in URLs; undefined if invalid. */
const nameOf = (host: string): string | undefined => {
  if (!/^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i.test(host)) return undefined
  return URL.parse(`http://${host}`)?.hostname.replace(/\.$/, "")
}

/** An address to bind to in the form of a `Host`. */
const bracketed = (host: string): string => (/^[\da-f.]*:[\da-f.]*:[\da-f:.]*$/i.test(host) ? `[${host}]` : host)

const isAddress = (name: string): boolean => name.startsWith("[") || /^\d+(?:\.\d+){3}$/.test(name)

/** True if a host, bound or requested, is loopback. */
export const isLoopback = (host: string): boolean => {
  const name = nameOf(bracketed(host))
  return name === "localhost" || name === "[::1]" || /^127(?:\.\d+){3}$/.test(name ?? "")
}

/** True if a page is from this machine. */
export const isLoopbackOrigin = (origin: string): boolean => isLoopback(/^https?:\/\/(.*)$/.exec(origin)?.[1] ?? "")

/** Names by which others address the servers of this process: behind a proxy, in a container. */
const allowedHosts: Effect.Effect<ReadonlySet<string | undefined>, BrowserGuardError> = Effect.gen(function* () {
  // Any text is valid here; an unreadable environment is a defect.
  const text = yield* Effect.orDie(Config.String("ATROPOS_ALLOWED_HOSTS").pipe(Config.withDefault("")))
  const names = text.split(",").flatMap((entry) => (entry.trim() === "" ? [] : [entry.trim()]))
  const wrong = names.find((entry) => nameOf(entry) === undefined)
  if (wrong === undefined) return new Set(names.map(nameOf))
  return yield* new BrowserGuardError({
    message: `ATROPOS_ALLOWED_HOSTS: expected names of hosts, separated by commas (atropos,gpu1.example), not ${JSON.stringify(wrong)}`
  })
})

const isRead = (method: string): boolean => method === "GET" || method === "HEAD" || method === "OPTIONS"

/** PowerShell claims to be one, but no page can make a browser claim to be PowerShell. */
const isBrowser = (agent: string): boolean => /^mozilla\//i.test(agent) && !agent.includes("PowerShell/")

/** Normalizes all spellings that any router treats as one path. */
const pathOf = (url: string): string =>
  url
    .replace(/^https?:\/\/[^/?#;]*/i, "")
    .split(/[?#;]/, 1)[0]!
    .replaceAll(/%([\da-f]{2})/gi, (_, code: string) => String.fromCharCode(parseInt(code, 16)))
    .toLowerCase()
    .replaceAll(/[/\\]+/g, "/")
    .replace(/(.)\/$/, "$1")

const foreignHost = (host: string, { tokens }: Options): string => {
  const name = nameOf(host)
  const setting = name === undefined ? "names its hosts" : `ATROPOS_ALLOWED_HOSTS=${name}`
  return (
    `the host ${JSON.stringify(host.slice(0, 300))} is not allowed: without tokens, this server accepts only its own host names, ` +
    `because web pages could send requests. To allow it (behind a proxy, in a container), start the server with ${setting}` +
    (tokens === undefined ? "" : ` in its environment, or set tokens in ${tokens}`)
  )
}

const foreignPage = ({ tokens }: Options): string =>
  "this request changes state and comes from a web page of another site, or of an unknown one: " +
  `send it with a program, for example curl${tokens === undefined ? "" : `, or set tokens in ${tokens}`}`

/** Why a request is rejected, as a message for its sender; undefined if it is accepted. */
export const make = (
  options: Options
): Effect.Effect<(request: RequestHead) => string | undefined, BrowserGuardError> =>
  Effect.map(allowedHosts, (named) => {
    const isForOthers = !isLoopback(options.host)
    const own = new Set([nameOf(bracketed(options.host)), nameOf(hostname())])
    const isAllowedOrigin = options.isAllowedOrigin ?? isLoopbackOrigin
    const changes = ({ headers, method, url }: RequestHead): boolean =>
      !isRead(method) ||
      headers["upgrade"] !== undefined ||
      (method !== "OPTIONS" && (options.changingReads?.test(pathOf(url)) ?? false))

    const isAllowedHost = (host: string): boolean => {
      const name = nameOf(host)
      if (name === undefined) return false
      return (
        isLoopback(host) || name === "0.0.0.0" || named.has(name) || (isForOthers && (own.has(name) || isAddress(name)))
      )
    }

    const isForeign = ({ headers }: RequestHead): boolean => {
      const { host, origin, "sec-fetch-site": site, "user-agent": agent } = headers
      if (site === "same-origin") return false
      if (origin !== undefined)
        return !(isAllowedOrigin(origin) || (host !== undefined && URL.parse(origin)?.host === host))
      // Typed by a user, or not caused by a page. Browsers without the header are unknown.
      return site === undefined ? isBrowser(agent ?? "") : site !== "none"
    }

    return (request) => {
      const { host } = request.headers
      // Every browser sends a host; a request without one is from a program.
      if (host !== undefined && !isAllowedHost(host)) return foreignHost(host, options)
      return changes(request) && isForeign(request) ? foreignPage(options) : undefined
    }
  })

const forbidden = (message: string) => HttpServerResponse.jsonUnsafe({ error: "Forbidden", message }, { status: 403 })

export const layer = (options: Options): Layer.Layer<never, BrowserGuardError, HttpRouter.HttpRouter> =>
  HttpRouter.middleware(
    Effect.map(
      make(options),
      (refusal) => (handler) =>
        Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
          const message = refusal(request)
          return message === undefined ? handler : Effect.succeed((options.refuse ?? forbidden)(message))
        })
    ),
    { global: true }
  )
