/**
 * `/ui` (and `/ui/`): the viewer, one self-contained file that `npm run build:viewer` writes to
 * `dist/viewer/index.html`.
 *
 * The page itself needs no token: it holds no data, and asks for a token where the service does. It may run its own
 * inline scripts (by their hashes) and nothing else, load nothing from elsewhere, and talk to its own origin alone:
 * what a model or a data set wrote can therefore do nothing. The file is read, hashed and compressed once, and again
 * when it has changed.
 */
import { Clock, Context, Effect, Option, Schema, Semaphore } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { createHash } from "node:crypto"
import { readFile, stat } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { brotliCompress, constants, gzip } from "node:zlib"

/** The page; by default where the build puts it, seen from the sources or from what they were compiled to. */
export const PageFile = Context.Reference<string>("@atropos/api/ViewerPage/PageFile", {
  defaultValue: () =>
    fileURLToPath(
      new URL(import.meta.url.endsWith(".ts") ? "../dist/viewer/index.html" : "./viewer/index.html", import.meta.url)
    )
})

/** Where the groups lie that the page shows: of files there are no curves and no queue, and it offers none. */
export const GroupsOf = Context.Reference<"service" | "files">("@atropos/api/ViewerPage/GroupsOf", {
  defaultValue: () => "service"
})

/** The run that the page opens if its address names none: one that starts, also before it is registered. */
export const Opens = Context.Reference<string | null>("@atropos/api/ViewerPage/Opens", { defaultValue: () => null })

/** The page is there, and cannot be read. */
class PageError extends Schema.TaggedError<PageError>()("PageError", { message: Schema.String }) {}

interface Page {
  /** Tells one version of the file from another without reading it. */
  readonly version: string
  readonly etag: string
  readonly policy: string
  readonly plain: Uint8Array
  readonly gzip: Uint8Array
  readonly br: Uint8Array
}

type Encoding = "br" | "gzip"

const sourceHash = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

/** A script that is data for others is never run. */
const isData = (attributes: string): boolean => /\btype\s*=\s*["']?(?:application\/|text\/plain)/i.test(attributes)

/** Where the page's scripts come from: the page. */
export const policyOf = (html: string): string => {
  const scripts = [...html.matchAll(/<script\b([^>]*)>([\s\S]*?)<\/script>/gi)]
    .filter(([, attributes = "", text = ""]) => text !== "" && !isData(attributes))
    .map(([, , text = ""]) => sourceHash(text))
  return [
    "default-src 'none'",
    `script-src ${scripts.length === 0 ? "'none'" : [...new Set(scripts)].join(" ")}`,
    // Typeset formulas and virtual lists place their parts by style attributes.
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

/** None where the viewer has not been built. */
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

/** The better one of those the browser takes; none that it rules out. */
const encodingFor = (accepted: string | undefined): Encoding | undefined =>
  (["br", "gzip"] as const).find((name) =>
    (accepted ?? "").split(",").some((part) => {
      const [coding, ...parameters] = part.split(";").map((word) => word.trim().toLowerCase())
      return coding === name && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
    })
  )

const isHeld = (ifNoneMatch: string | undefined, etag: string): boolean =>
  (ifNoneMatch ?? "").split(",").some((one) => one.trim().replace(/^W\//, "") === etag || one.trim() === "*")

const answer = (request: HttpServerRequest.HttpServerRequest, page: Page): HttpServerResponse.HttpServerResponse => {
  const encoding = encodingFor(request.headers["accept-encoding"])
  const etag = `"${page.etag}${encoding === undefined ? "" : `-${encoding}`}"`
  const headers = {
    etag,
    // Asked for anew each time, and sent only where it is another one.
    "cache-control": "no-cache",
    vary: "Accept-Encoding",
    "content-security-policy": page.policy,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin"
  }
  if (isHeld(request.headers["if-none-match"], etag)) return HttpServerResponse.empty({ status: 304, headers })
  return HttpServerResponse.uint8Array(encoding === undefined ? page.plain : page[encoding], {
    headers: encoding === undefined ? headers : { ...headers, "content-encoding": encoding },
    contentType: "text/html; charset=utf-8"
  })
}

const notThere = (reason: string) =>
  HttpServerResponse.text(
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Atropos</title>` +
      `<p>${reason} The service itself works: see <a href="v1/docs">its endpoints</a>.</p></html>`,
    {
      status: 503,
      contentType: "text/html; charset=utf-8",
      headers: { "cache-control": "no-store", "content-security-policy": "default-src 'none'" }
    }
  )

const notBuilt = notThere(
  "The viewer has not been built: run <code>npm run build:viewer</code>, then load this page again."
)
const notReadable = notThere("The viewer cannot be read; the log of the service says why.")

/** Whether a person asks with a browser: other clients take anything, or JSON. */
const wantsPage = ({ headers, method }: HttpServerRequest.HttpServerRequest): boolean =>
  (method === "GET" || method === "HEAD") && (headers["accept"] ?? "").includes("text/html")

const mountOf = ({ prefix }: HttpRouter.Route<unknown, unknown>): string => Option.getOrElse(prefix, () => "")

/** `/`, or the path the service is mounted at. */
const isHome = (route: HttpRouter.Route<unknown, unknown>): boolean =>
  (route.path.slice(mountOf(route).length) || "/") === "/"

const toPage = (route: HttpRouter.Route<unknown, unknown>) =>
  HttpServerResponse.empty({ status: 302, headers: { location: `${mountOf(route)}/ui`, vary: "Accept" } })

/** For routes at `/`: browsers are sent to the page, all others get what the route answers. */
export const forBrowsers = HttpRouter.middleware((route) =>
  Effect.flatMap(
    Effect.all([HttpServerRequest.HttpServerRequest, HttpRouter.RouteContext]),
    ([request, { route: matched }]) => (wantsPage(request) && isHome(matched) ? Effect.succeed(toPage(matched)) : route)
  )
)

/** A route that sends everybody to the page. */
export const home = HttpRouter.add(
  "GET",
  "/",
  Effect.map(HttpRouter.RouteContext, ({ route }) => toPage(route))
)

const attribute = (value: string): string =>
  value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;")

/** What the page has to know before it asks anything. */
const attributesOf = (groupsOf: "service" | "files", opens: string | null): string =>
  `data-groups="${groupsOf}"${opens === null ? "" : ` data-opens="${attribute(opens)}"`}`

/** `/ui` and `/ui/`. */
export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const file = yield* PageFile
    const attributes = attributesOf(yield* GroupsOf, yield* Opens)
    const turn = yield* Semaphore.make(1)
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
      turn
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
