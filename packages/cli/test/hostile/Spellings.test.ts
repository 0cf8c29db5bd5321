/**
 * Everything that listens keeps pages of other sites out, however they spell a path: what no route has is no route, and
 * what one has is guarded.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, layer } from "@effect/vitest"
import * as PrometheusServer from "@atropos/core/metrics/PrometheusServer"
import { Effect, FileSystem, type Scope } from "effect"
import { connect } from "node:net"
import * as TestServer from "../../../core/test/inference/TestServer.ts"
import * as InProcess from "../InProcess.ts"
import * as SampleGroups from "../sets/SampleGroups.ts"

/** The status of the answer to a request whose path is sent as it stands. */
const statusOf = (url: string, method: string, path: string, headers: { readonly [name: string]: string }) =>
  Effect.callback<number>((resume) => {
    const { host, hostname, port } = new URL(url)
    const lines = Object.entries({ host, connection: "close", "content-length": "0", ...headers })
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")
    const socket = connect(Number(port), hostname, () => socket.write(`${method} ${path} HTTP/1.1\r\n${head}\r\n`))
    socket.once("data", (bytes) => {
      socket.destroy()
      resume(Effect.succeed(Number(bytes.toString("latin1").split(" ", 2)[1])))
    })
    for (const end of ["error", "close"]) socket.on(end, () => resume(Effect.succeed(0)))
  })

/** A name in the target counts in the place of the `Host`; browsers write none. */
const ownName = "http://localhost"

/** Ways to write a path that some router or proxy takes for the same. */
const spellings = (path: string): ReadonlyArray<string> => {
  const last = path.lastIndexOf("/")
  const [before, name] = [path.slice(0, last), path.slice(last + 1)]
  const escaped = `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`
  return [
    path,
    `${path}/`,
    `${path}//`,
    `/${path}`,
    `${before}//${name}`,
    path.toUpperCase(),
    `${before}/${name.charAt(0).toUpperCase()}${name.slice(1)}`,
    `${before}/${escaped}`,
    `${before}%2f${name}`,
    `${before}%2F${name}`,
    `${before}/./${name}`,
    `${before}/x/../${name}`,
    `${before}\\${name}`,
    `${path}?x=1`,
    `${path};x`,
    `${path};a=b/x`,
    `${path}/;a=b`,
    `${path}#x`,
    `${path}%zz`,
    `${path}%c3%28`,
    `${path}%20`,
    `${path}%00`,
    `${ownName}${path}`
  ]
}

const page = { origin: "https://evil.example", "user-agent": "Mozilla/5.0 Chrome/130.0.0.0" }
const socket = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="
}
const json = { "content-type": "application/json" }

interface Route {
  readonly method: string
  readonly path: string
  readonly headers?: { readonly [name: string]: string }
}
const post = (path: string): Route => ({ method: "POST", path, headers: json })
const get = (path: string): Route => ({ method: "GET", path })

/** No answer of a route: refused, not found, no such method, no path at all. */
const shut = new Set([0, 400, 403, 404, 405])

/** What changes something is refused to pages of other sites, and everything to names that are not the server's. */
const isGuarded = Effect.fnUntraced(function* (
  url: string,
  changes: ReadonlyArray<Route>,
  reads: ReadonlyArray<Route>
) {
  for (const { headers, method, path } of changes) {
    assert.strictEqual(yield* statusOf(url, method, path, { ...headers, ...page }), 403, path)
    const program = yield* statusOf(url, method, path, headers ?? {})
    // An environment that is not known is a 404 too.
    const isAnswered = path.includes("/runs/")
      ? program === 404 || program < 403
      : ![0, 403, 404, 405].includes(program)
    assert.isTrue(isAnswered, `${method} ${path}: ${program}`)
    for (const spelt of spellings(path)) {
      const status = yield* statusOf(url, method, spelt, { ...headers, ...page })
      assert.include([...shut], status, `${method} ${spelt}`)
      // A bad request is one of a path, and not of what a route was given.
      if (status === 400) assert.match(spelt, /%00|\\|^[^/]/, spelt)
    }
  }
  for (const { method, path } of [...reads, ...changes]) {
    for (const spelt of [...spellings(path).filter((one) => !one.startsWith(ownName)), `http://evil.example${path}`]) {
      const status = yield* statusOf(url, method, spelt, { host: "evil.example" })
      assert.include([...shut], status, `${method} ${spelt} of evil.example`)
    }
  }
  for (const { method, path } of reads) {
    assert.strictEqual(yield* statusOf(url, method, path, {}), 200, path)
    for (const behind of [";", ";a=b", ";a=b/x", "#x", "%3Ba=b", "%zz", "%c3%28"]) {
      assert.strictEqual(yield* statusOf(url, method, path + behind, {}), 404, path + behind)
    }
  }
})

const started = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
  const command = yield* InProcess.start([...words, "--port", "0"])
  return (yield* command.says(/http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d+/))[0]
})

const chat = "/v1/chat/completions"

const servers: ReadonlyArray<
  readonly [
    name: string,
    start: (cwd: string) => Effect.Effect<string, unknown, Scope.Scope | NodeServices.NodeServices>,
    changes: ReadonlyArray<Route>,
    reads: ReadonlyArray<Route>
  ]
> = [
  [
    "the trajectory service",
    () =>
      Effect.gen(function* () {
        const url = yield* started("api")
        // There is a run, so that its routes find it.
        const trainer = {
          wandb_group: "",
          wandb_project: "",
          batch_size: 1,
          max_token_len: 8,
          checkpoint_dir: "",
          save_checkpoint_interval: 0,
          starting_step: 0,
          num_steps: 1
        }
        yield* Effect.promise(() =>
          fetch(`${url}/register`, { method: "POST", headers: json, body: JSON.stringify(trainer) })
        )
        return url
      }),
    [
      post("/register"),
      post("/scored_data"),
      get("/reset_data"),
      get("/batch"),
      post("/v1/runs"),
      post("/v1/runs/default/groups"),
      post("/v1/runs/default/reset")
    ],
    [get("/v1/runs"), get("/info"), get("/ui")]
  ],
  [
    "the gateway",
    () =>
      Effect.gen(function* () {
        const model = yield* TestServer.make(() => TestServer.chatReply(["hi"]))
        const words = ["--openai.base_url", `${model.url}/v1`, "--openai.health_check", "false", "--port", "0"]
        const command = yield* InProcess.start(["gateway", ...words])
        // Before that it warns of the server, by its URL.
        return (yield* command.says(/(?<=gateway at )http:\/\/127\.0\.0\.1:\d+/))[0]
      }),
    [post("/sessions")],
    []
  ],
  [
    "the policy",
    () => started("policy", "--model", "bundled"),
    [post(chat), post("/v1/completions"), post("/tokenize")],
    [get("/v1/models"), get("/health")]
  ],
  [
    "Tinker's server",
    () => started("tinker", "--model", "bundled", "--threads", "1"),
    [post("/api/v1/create_session"), post("/api/v1/asample")],
    [get("/api/v1/healthz")]
  ],
  [
    "OpenEnv's server",
    () => started("openenv", "--env", "addition"),
    [post("/reset"), post("/step"), { method: "GET", path: "/ws", headers: socket }],
    [get("/health"), get("/schema")]
  ],
  [
    "the viewer of files",
    (cwd) =>
      Effect.gen(function* () {
        yield* (yield* FileSystem.FileSystem).writeFileString(`${cwd}/groups.jsonl`, SampleGroups.lines(2))
        return yield* started("view", "groups.jsonl")
      }),
    [],
    [get("/v1/runs"), get("/ui")]
  ],
  [
    "metrics for Prometheus",
    () =>
      Effect.map(
        Effect.flatMap(PrometheusServer.start({ host: "127.0.0.1", port: 0 }), ({ url }) => url),
        (url) => new URL(url).origin
      ),
    [],
    [get("/metrics")]
  ]
]

layer(NodeServices.layer, { excludeTestServices: true })("pages of other sites", (it) => {
  for (const [name, start, changes, reads] of servers) {
    it.effect(`reach no route of ${name}, by any spelling`, () =>
      Effect.gen(function* () {
        const cwd = yield* InProcess.folder
        yield* isGuarded(yield* start(cwd), changes, reads)
      })
    )
  }
})
