/**
 * Parses the address of a Tinker server: `tinker+https://host`, `tinker+http://localhost:8000`.
 *
 * The key only comes from `TINKER_API_KEY`: an address with a user or a password is rejected, because addresses are
 * shown, logged and written to checkpoints. A server on this machine needs no key.
 */
import { Config, Effect, Option, Redacted } from "effect"
import { TinkerError } from "./TinkerError.ts"

export interface Address {
  /** `http://host:port`, without a trailing slash; the server's name in messages and references. */
  readonly url: string
  readonly apiKey: Redacted.Redacted | undefined
}

const scheme = "tinker+"

/** True if the text is the address of a Tinker server. */
export const isAddress = (text: string): boolean => text.startsWith(scheme)

const fail = (server: string, message: string) => Effect.fail(new TinkerError({ reason: "address", server, message }))

const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname)

const expected = "expected tinker+https://host or tinker+http://host:port"

const urlOf = (text: string) =>
  isAddress(text) && URL.canParse(text.slice(scheme.length)) ? new URL(text.slice(scheme.length)) : undefined

export const read = Effect.fn("Address.read")(function* (text: string) {
  const url = urlOf(text)
  if (url === undefined) return yield* fail(text, `engine ${JSON.stringify(text)} is not a valid address: ${expected}`)
  if (url.username !== "" || url.password !== "") {
    return yield* fail(url.host, `the address of an engine must not contain a key: set TINKER_API_KEY instead`)
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return yield* fail(text, `engine ${JSON.stringify(text)} is not an HTTP address: ${expected}`)
  }
  if (url.search !== "" || url.hash !== "") {
    return yield* fail(url.host, `the address ${url.origin}${url.pathname} contains ? or #: ${expected}`)
  }
  const apiKey = Option.getOrUndefined(yield* key)
  const server = `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, "").replace(/\/api\/v1$/, "")}`
  if (apiKey === undefined && !isLoopback(url.hostname)) {
    return yield* fail(server, `${server} needs a key: set TINKER_API_KEY`)
  }
  return { url: server, apiKey } satisfies Address
})

/** An empty variable counts as unset. */
const key = Config.Redacted("TINKER_API_KEY").pipe(
  Config.option,
  Effect.orElseSucceed(() => Option.none<Redacted.Redacted>()),
  Effect.map(Option.filter((value) => Redacted.value(value) !== ""))
)
