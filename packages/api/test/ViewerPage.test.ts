import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it, layer } from "@effect/vitest"
import { WireGroup } from "@atropos/core"
import { Effect, FileSystem, Layer, Option, Redacted, Stream } from "effect"
import { createHash } from "node:crypto"
import { brotliDecompressSync, gunzipSync } from "node:zlib"
import * as Auth from "../src/http/Auth.ts"
import * as HttpServer from "../src/http/HttpServer.ts"
import * as RolloutReader from "../src/store/RolloutReader.ts"
import * as RolloutText from "../src/rollout/RolloutText.ts"
import * as TrajectoryService from "../src/TrajectoryService.ts"
import { UnknownRun } from "../src/store/TrajectoryStore.ts"
import * as ViewerPage from "../src/ViewerPage.ts"
import * as ViewerService from "../src/ViewerService.ts"
import * as SampleGroups from "./SampleGroups.ts"
import { call, ServiceUrl, urlOf } from "./TestService.ts"
import * as TestStore from "./TestStore.ts"

const script = "console.log('</p>')"
const page = (title: string) =>
  `<!doctype html><title>${title}</title><script type="module">${script}</script>` +
  `<script id="atropos-data" type="application/octet-stream"></script><script src="x.js"></script>`

/** A page of its own, which tests may write. */
const pageFile = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-page-" })
  return `${folder}/index.html`
}).pipe(Effect.provide(NodeServices.layer), Effect.orDie)

const file = Layer.effect(ViewerPage.PageFile, pageFile)

const write = (text: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    yield* fs.writeFileString(yield* ViewerPage.PageFile, text)
  }).pipe(Effect.provide(NodeServices.layer))

const remove = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  yield* fs.remove(yield* ViewerPage.PageFile, { force: true })
}).pipe(Effect.provide(NodeServices.layer))

const serviceOf = (routes: Layer.Layer<never, never, Layer.Services<ReturnType<typeof TrajectoryService.layer>>>) =>
  Layer.effect(ServiceUrl, urlOf).pipe(
    Layer.provide(HttpServer.layer(routes, { host: "127.0.0.1", port: 0 })),
    Layer.provide([TestStore.layer, Auth.layer(Redacted.make("reader:token-of-readers"))]),
    Layer.provideMerge(file),
    Layer.merge(NodeHttpClient.layerUndici)
  )

const html = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" }

layer(serviceOf(TrajectoryService.layer()), { excludeTestServices: true })("the viewer's page", (it) => {
  it.effect("is missed where it was not built, and says how to build it", () =>
    Effect.gen(function* () {
      yield* remove
      const { headers, status, text } = yield* call("/ui")
      assert.strictEqual(status, 503)
      assert.include(text, "npm run build:viewer")
      assert.strictEqual(headers["cache-control"], "no-store")
    })
  )

  it.effect("needs no token, runs its own scripts alone, and loads nothing from elsewhere", () =>
    Effect.gen(function* () {
      yield* write(page("one"))
      for (const path of ["/ui", "/ui/"]) {
        const { headers, status, text } = yield* call(path)
        assert.deepStrictEqual([status, text], [200, page("one")])
        assert.strictEqual(headers["content-type"], "text/html; charset=utf-8")
        const policy = headers["content-security-policy"]!
        const hash = createHash("sha256").update(script).digest("base64")
        assert.include(policy, `script-src 'sha256-${hash}';`)
        assert.include(policy, "default-src 'none'")
        assert.include(policy, "connect-src 'self'")
        assert.include(policy, "frame-ancestors 'none'")
        assert.notInclude(policy.replace("style-src 'unsafe-inline'", ""), "unsafe")
        assert.strictEqual(headers["x-content-type-options"], "nosniff")
      }
      assert.strictEqual((yield* call("/v1/runs")).status, 401)
    })
  )

  it.effect("comes compressed as the browser likes, and not at all where it has it", () =>
    Effect.gen(function* () {
      yield* write(page("two"))
      const etags = new Set<string>()
      for (const [accepted, encoding, decode] of [
        ["gzip, deflate, br", "br", brotliDecompressSync],
        ["gzip", "gzip", gunzipSync],
        ["br;q=0, gzip;q=0.5", "gzip", gunzipSync],
        ["identity", undefined, (bytes: Uint8Array) => Buffer.from(bytes)]
      ] as const) {
        const url = yield* ServiceUrl
        // Bare, so that nobody decompresses it on the way.
        const { body, headers } = yield* bare(`${url}/ui`, { "accept-encoding": accepted })
        assert.strictEqual(headers["content-encoding"], encoding)
        assert.strictEqual(headers["vary"], "Accept-Encoding")
        assert.strictEqual(decode(body).toString(), page("two"))
        const etag = String(headers["etag"])
        etags.add(etag)
        const again = yield* bare(`${url}/ui`, { "accept-encoding": accepted, "if-none-match": `"other", W/${etag}` })
        assert.deepStrictEqual([again.status, again.body.length], [304, 0])
        assert.strictEqual(again.headers["etag"], etag)
      }
      assert.strictEqual(etags.size, 3)
      yield* write(page("three, longer"))
      const held = [...etags].join(", ")
      assert.strictEqual((yield* call("/ui", { headers: { "if-none-match": held } })).text, page("three, longer"))
    })
  )

  it.effect("is where browsers are sent that ask for the root; clients get the original's answer", () =>
    Effect.gen(function* () {
      const url = yield* ServiceUrl
      for (const [path, location] of [
        ["/", "/ui"],
        ["/?x=1", "/ui"]
      ] as const) {
        const { headers, status } = yield* bare(`${url}${path}`, html)
        assert.deepStrictEqual([status, headers["location"]], [302, location], path)
      }
      const token = { authorization: "Bearer token-of-readers" }
      for (const accept of ["*/*", "application/json", undefined]) {
        const answered = yield* bare(`${url}/`, { ...token, ...(accept !== undefined && { accept }) })
        assert.deepStrictEqual([answered.status, answered.body.toString()], [200, '{"message":"AtroposLib API"}'])
      }
      // No other path of the original's is for people.
      assert.strictEqual((yield* bare(`${url}/status`, { ...html, ...token })).status, 200)
      assert.strictEqual((yield* bare(`${url}/status`, html)).status, 401)
    })
  )
})

layer(serviceOf(TrajectoryService.layerAt("/lab")), { excludeTestServices: true })(
  "the viewer's page in another application",
  (it) => {
    it.effect("is under its path", () =>
      Effect.gen(function* () {
        yield* write(page("lab"))
        assert.strictEqual((yield* call("/lab/ui")).text, page("lab"))
        assert.strictEqual((yield* call("/ui")).status, 404)
        const url = yield* ServiceUrl
        for (const path of ["/lab", "/lab/"]) {
          const { headers, status } = yield* bare(`${url}${path}`, html)
          assert.deepStrictEqual([status, headers["location"]], [302, "/lab/ui"], path)
        }
      })
    )
  }
)

/** Without anything that a comfortable client does of its own accord. */
const bare = (url: string, headers: { readonly [name: string]: string }) =>
  Effect.promise(async () => {
    const { request } = await import("node:http")
    return new Promise<{
      readonly status: number | undefined
      readonly headers: { readonly [name: string]: string | ReadonlyArray<string> | undefined }
      readonly body: Buffer
    }>((resolve, reject) => {
      request(url, { headers }, (response) => {
        const parts: Array<Buffer> = []
        response
          .on("data", (part: Buffer) => parts.push(part))
          .on("end", () =>
            resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(parts) })
          )
      })
        .on("error", reject)
        .end()
    })
  })

describe("ViewerPage.policyOf", () => {
  it.each([
    ["<p>no script</p>", "script-src 'none'"],
    [`<script type="application/json">{}</script>`, "script-src 'none'"],
    [
      `<SCRIPT>a</SCRIPT><script nonce=x>b</script>`,
      "script-src 'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs=' 'sha256-PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0='"
    ]
  ])("of %s", (text, expected) => assert.include(ViewerPage.policyOf(text), `${expected};`))
})

const lines = [
  { ...SampleGroups.full, messages: [[{ role: "user", content: "First?" }], [{ role: "user", content: "First?" }]] },
  { ...SampleGroups.full, messages: [[{ role: "user", content: "Second?" }], [{ role: "user", content: "Second?" }]] }
].map((group) => WireGroup.encode(group))

const known = <A>(run: string, value: A) =>
  run === "file" ? Effect.succeed(value) : Effect.fail(new UnknownRun({ run }))

/** Lines of a file, as somebody else's reader would read them. */
const fileReader = Layer.sync(RolloutReader.RolloutReader, () => {
  const rollouts = lines.map((line, i): RolloutReader.Rollout & { readonly text: RolloutText.GroupText } => {
    const payload = { format: "json" as const, bytes: new TextEncoder().encode(line) }
    const text = RolloutText.ofMessages((JSON.parse(line) as { readonly messages: unknown }).messages)
    return {
      id: String(i + 1),
      environment: null,
      envId: null,
      step: null,
      state: "consumed",
      createdAt: 0,
      sequences: 2,
      tokens: 7,
      scores: [1, -0.1],
      policyStep: null,
      preview: text.preview,
      figures: null,
      payload,
      text
    }
  })
  return {
    runs: Effect.succeed([]),
    rollouts: (run, { text }) => {
      const rows = rollouts.filter((one) => text === undefined || RolloutText.matches(text, one.text)).toReversed()
      return known(run, { rows, next: null, total: rows.length, unindexed: 0 })
    },
    rollout: (run, id) => known(run, Option.fromUndefinedOr(rollouts.find((one) => one.id === id))),
    pieces: (run) => known(run, new Map([[7, "seven"]])),
    metrics: (run) => known(run, { metrics: [], next: null }),
    metricsToCome: (run) => known(run, Stream.never),
    environments: (run) => known(run, []),
    distribution: (run: string) => known(run, null),
    settings: (run) => known(run, []),
    batches: (run) => known(run, [])
  }
})

const viewer = Layer.effect(ServiceUrl, urlOf).pipe(
  Layer.provide(ViewerService.serve({ host: "127.0.0.1", port: 0 })),
  Layer.provide([fileReader, Auth.layerOpen]),
  Layer.provideMerge(file),
  Layer.merge(NodeHttpClient.layerUndici)
)

layer(viewer, { excludeTestServices: true })("the viewer over anybody's rollouts", (it) => {
  it.effect("serves the page and the endpoints it reads, and nothing else", () =>
    Effect.gen(function* () {
      yield* write(page("four"))
      assert.strictEqual((yield* call("/ui")).text, page("four"))
      const url = yield* ServiceUrl
      assert.deepInclude(yield* bare(`${url}/`, {}), { status: 302 })
      const { rows } = (yield* call("/v1/runs/file/rollouts")).json() as { rows: ReadonlyArray<{ preview: string }> }
      assert.deepStrictEqual(
        rows.map(({ preview }) => preview),
        ["Second?", "First?"]
      )
      assert.strictEqual((yield* call("/v1/runs/file/rollouts?text=first")).json()["total"], 1)
      const one = (yield* call("/v1/runs/file/rollouts/1")).json()
      assert.deepInclude(one, { preview: "First?", state: "consumed", tokens: 7 })
      assert.deepStrictEqual(one["group"], { ...(JSON.parse(lines[0]!) as object), policy_versions: null })
      assert.deepStrictEqual((yield* call("/v1/runs/file/pieces?ids=7")).json(), { pieces: { 7: "seven" } })
      for (const path of ["metrics", "environments", "batches"]) {
        assert.strictEqual((yield* call(`/v1/runs/file/${path}`)).status, 200, path)
        assert.strictEqual((yield* call(`/v1/runs/other/${path}`)).status, 404, path)
      }
      for (const path of ["/v1/runs/file/summary", "/v1/runs/file/groups", "/batch", "/metrics"]) {
        assert.strictEqual((yield* call(path)).status, 404, path)
      }
      const { paths } = (yield* call("/v1/openapi.json")).json() as { paths: Record<string, object> }
      assert.isTrue(Object.values(paths).every((methods) => Object.keys(methods).join() === "get"))
    })
  )
})

const training = TrajectoryService.layer().pipe(Layer.provide(Layer.succeed(ViewerPage.Opens, 'sums "1" <2>')))

layer(serviceOf(training), { excludeTestServices: true })("the page of a program that trains a run", (it) => {
  it.effect("opens that run, whatever it is called", () =>
    Effect.gen(function* () {
      yield* write('<!doctype html><html lang="en"></html>')
      const { text } = yield* call("/ui")
      assert.include(text, '<html data-groups="service" data-opens="sums &quot;1&quot; &lt;2>" lang="en">')
    })
  )
})
