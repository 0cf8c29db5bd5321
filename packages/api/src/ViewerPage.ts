/**
 * Serves the viewer at `/ui` (and `/ui/`): a self-contained file that `npm run build:viewer` writes to
 * `dist/viewer/index.html`, read, hashed and compressed again only when it changes.
 *
 * The page needs no token, since it holds no data. Its policy allows only its own inline scripts (by hash), no external
 * resources, and connections to its own origin, so model output and data cannot execute anything.
 */
import { Clock, Context, Effect, Option, Schema, Semaphore } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { readFile, stat } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { brotliCompress, constants, gzip } from "node:zlib"

/** Path of the page; by default the build's output, relative to the sources or the compiled files. */
export const PageFile = Context.Reference<string>("@atropos/api/ViewerPage/PageFile", {
  defaultValue: () =>
    fileURLToPath(
      new URL(import.meta.url.endsWith(".ts") ? "../dist/viewer/index.html" : "./viewer/index.html", import.meta.url)
    )
})

/** Source of the shown groups: files have no curves and no queue, so the page hides these. */
export const GroupsOf = Context.Reference<"service" | "files">("@atropos/api/ViewerPage/GroupsOf", {
  defaultValue: () => "service"
})

/** The run the page opens if its URL names none; may be set before the run is registered. */
export const Opens = Context.Reference<string | null>("@atropos/api/ViewerPage/Opens", { defaultValue: () => null })

class PageError extends Schema.TaggedError<PageError>()("PageError", { message: Schema.String }) {}

interface Page {
  /** Identifies a version of the file without reading it. */
  readonly version: string
  readonly etag: string
  readonly policy: string
  readonly plain: Uint8Array
  readonly gzip: Uint8Array
  readonly br: Uint8Array
}

type Encoding = "br" | "gzip"

const sourceHash = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

const isData = (attributes: string): boolean => /\btype\s*=\s*["']?(?:application\/|text\/plain)/i.test(attributes)

/** A content security policy that only allows the page's own scripts. */
export const policyOf = (html: string): string => {
  const scripts = [...html.matchAll(/<script\b([^>]*)>([\s\S]*?)<\/script>/gi)]
    .filter(([, attributes = "", text = ""]) => text !== "" && !isData(attributes))
    .map(([, , text = ""]) => sourceHash(text))
  return [
    "default-src 'none'",
    `script-src ${scripts.length === 0 ? "'none'" : [...new Set(scripts)].join(" ")}`,
    // Formulas and virtual lists are positioned by style attributes.
    "style-src 'unsafe-inline'",
    "img-src data: blob:",
    "font-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")
}

const compressed = (
  compress: (done: (error: Error | null, bytes: Uint8Array) => void) => void
): Effect.Effect<Uint8Array, PageError> =>
  Effect.callback((resume) =>
    compress((error, bytes) =>
      resume(error === null ? Effect.succeed(bytes) : Effect.fail(new PageError({ message: error.message })))
    )
  )

const prepare = Effect.fnUntraced(function* (version: string, plain: Uint8Array): Effect.fn.Return<Page, PageError> {
  const [br, zipped] = yield* Effect.all(
    [
      compressed((done) => brotliCompress(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }, done)),
      compressed((done) => gzip(plain, { level: 9 }, done))
    ],
    { concurrency: "unbounded" }
  )
  return {
    version,
    etag: createHash("sha256").update(plain).digest("base64url"),
    policy: policyOf(new TextDecoder().decode(plain)),
    plain,
    gzip: zipped,
    br
  }
})

const isMissing = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code === "ENOENT"

/** None if the viewer has not been built. */
const versionOf = (file: string) =>
  Effect.tryPromise({
    try: () => stat(file),
    catch: (cause) => (isMissing(cause) ? ("missing" as const) : new PageError({ message: `cannot read ${file}` }))
  }).pipe(
    Effect.map(({ mtimeMs, size }) => Option.some(`${mtimeMs} ${size}`)),
    Effect.catchIf(
      (error) => error === "missing",
      () => Effect.succeedNone
    )
  )

/** The best encoding the browser accepts. */
const encodingFor = (accepted: string | undefined): Encoding | undefined =>
  (["br", "gzip"] as const).find((name) =>
    (accepted ?? "").split(",").some((part) => {
      const [coding, ...parameters] = part.split(";").map((word) => word.trim().toLowerCase())
      return coding === name && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
    })
  )

const isNotModified = (ifNoneMatch: string | undefined, etag: string): boolean =>
  (ifNoneMatch ?? "").split(",").some((one) => one.trim().replace(/^W\//, "") === etag || one.trim() === "*")

const answer = (request: HttpServerRequest.HttpServerRequest, page: Page): HttpServerResponse.HttpServerResponse => {
  const encoding = encodingFor(request.headers["accept-encoding"])
  const etag = `"${page.etag}${encoding === undefined ? "" : `-${encoding}`}"`
  const headers = {
    etag,
    // Revalidated on each request, and sent only if changed.
    "cache-control": "no-cache",
    vary: "Accept-Encoding",
    "content-security-policy": page.policy,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin"
  }
  if (isNotModified(request.headers["if-none-match"], etag)) return HttpServerResponse.empty({ status: 304, headers })
  return HttpServerResponse.uint8Array(encoding === undefined ? page.plain : page[encoding], {
    headers: encoding === undefined ? headers : { ...headers, "content-encoding": encoding },
    contentType: "text/html; charset=utf-8"
  })
}

const unavailablePage = (reason: string) =>
  HttpServerResponse.text(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Atropos</title>` +
      `<p>${reason} The service itself is running: see <a href="v1/docs">its endpoints</a>.</p></html>`,
    {
      status: 503,
      contentType: "text/html; charset=utf-8",
      headers: { "cache-control": "no-store", "content-security-policy": "default-src 'none'" }
    }
  )

const notBuilt = unavailablePage(
  "The viewer is not built: run <code>npm run build:viewer</code>, then reload this page."
)
const notReadable = unavailablePage("Cannot read the viewer's files; see the service's log.")

/** Returns true for browsers: other clients accept anything, or JSON. */
const wantsPage = ({ headers, method }: HttpServerRequest.HttpServerRequest): boolean =>
  (method === "GET" || method === "HEAD") && (headers["accept"] ?? "").includes("text/html")

const mountOf = ({ prefix }: HttpRouter.Route<unknown, unknown>): string => Option.getOrElse(prefix, () => "")

/** True for `/`, or the mount path. */
const isHome = (route: HttpRouter.Route<unknown, unknown>): boolean =>
  (route.path.slice(mountOf(route).length) || "/") === "/"

const toPage = (route: HttpRouter.Route<unknown, unknown>) =>
  HttpServerResponse.empty({ status: 302, headers: { location: `${mountOf(route)}/ui`, vary: "Accept" } })

/** For routes at `/`: redirects browsers to the page; other clients get the route's response. */
export const forBrowsers = HttpRouter.middleware((route) =>
  Effect.flatMap(
    Effect.all([HttpServerRequest.HttpServerRequest, HttpRouter.RouteContext]),
    ([request, { route: matched }]) => (wantsPage(request) && isHome(matched) ? Effect.succeed(toPage(matched)) : route)
  )
)

/** A route that redirects all clients to the page. */
export const home = HttpRouter.add(
  "GET",
  "/",
  Effect.map(HttpRouter.RouteContext, ({ route }) => toPage(route))
)

const attribute = (value: string): string =>
  value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;")

const attributesOf = (groupsOf: "service" | "files", opens: string | null): string =>
  `data-groups="${groupsOf}"${opens === null ? "" : ` data-opens="${attribute(opens)}"`}`

export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const file = yield* PageFile
    const attributes = attributesOf(yield* GroupsOf, yield* Opens)
    const lock = yield* Semaphore.make(1)
    let cached: Page | undefined
    const current = Effect.gen(function* () {
      const version = yield* versionOf(file)
      if (Option.isNone(version)) return undefined
      if (cached?.version === version.value) return cached
      const html = yield* Effect.tryPromise({
        try: () => readFile(file, "utf8"),
        catch: () => new PageError({ message: `cannot read ${file}` })
      })
      const bytes = new TextEncoder().encode(html.replace("<html", () => `<html ${attributes}`))
      const started = yield* Clock.currentTimeMillis
      cached = yield* prepare(version.value, bytes)
      yield* Effect.logDebug("viewer prepared", {
        bytes: bytes.length,
        compressed: cached.br.length,
        millis: (yield* Clock.currentTimeMillis) - started
      })
      return cached
    })
    const serve = (request: HttpServerRequest.HttpServerRequest) =>
      lock
        .withPermits(1)(current)
        .pipe(
          Effect.map((page) => (page === undefined ? notBuilt : answer(request, page))),
          Effect.catchTags({
            PageError: (error) => Effect.as(Effect.logError("viewer not served", error), notReadable)
          })
        )
    yield* router.add("GET", "/ui", serve)
  })
)
