/** Programs of agents in containers of a real Docker Engine: what they reach of the gateway and of its machine. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, type Path, type Scope } from "effect"
import { globSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as ContainerTasks from "../harbor/ContainerTasks.ts"
import * as Engine from "../harbor/Engine.ts"
import * as Rolling from "../harbor/Rolling.ts"

type Needs = FileSystem.FileSystem | Path.Path | Scope.Scope

const suite = (name: string, run: Effect.Effect<unknown, unknown, Needs>) =>
  it.live.skipIf(Engine.skipped !== "")(name, () => run.pipe(Effect.scoped, Effect.provide(Rolling.platform)))

/** A service of this machine's loopback. */
const service = Effect.acquireRelease(
  Effect.callback<ReturnType<typeof createServer>>((resume) => {
    const server = createServer((_, response) => response.end("here"))
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.sync(() => server.close())
)

describe(`programs in containers${Engine.skipped}`, () => {
  suite(
    "reach the gateway on their own loopback; without a network, nothing else",
    Effect.gen(function* () {
      const { host, program } = yield* Engine.engine
      const fs = yield* FileSystem.FileSystem
      // Of the engine's machine, on its loopback, on all addresses, and where clouds have the metadata.
      const served = ["127.0.0.1:8001", "0.0.0.0:8002", "169.254.169.254:80"]
      host(
        `ip address add 169.254.169.254/32 dev lo; ${served.map((at) => `busybox httpd -h /etc -p ${at}`).join("; ")}`
      )
      // Listening, so it has an address.
      const { port } = (yield* service).address() as AddressInfo
      const places = ["127.0.0.1:8001", "127.0.0.1:8002", "172.17.0.1:8002", "169.254.169.254:80", `127.0.0.1:${port}`]
      const root = "${OPENAI_BASE_URL%/s/*}"
      const probe = [
        ...places.map((place) => `echo | nc -w 5 ${place.replace(":", " ")} > /dev/null && echo ${place}`),
        `for path in / /sessions /v1/models /reward /s/${"0".repeat(32)}/v1/models; do wget -q -O - ${root}$path && echo $path; done`,
        'wget -q -O - $OPENAI_BASE_URL/models | grep -o \'"object":"list"\'',
        "find / -type s",
        "ls /door0 /node /relay.mts /relay.mjs",
        'printf "GET http://172.17.0.1:8002/ HTTP/1.0\\r\\n\\r\\n" | nc -w 5 127.0.0.1 3128 | grep -o "172.17.0.1 is not a public address"',
        "for one in /sys/class/net/*; do echo ${one##*/}; done"
      ].join("; ")
      const list = '"object":"list"\n'
      for (const [mode, network, reached] of [
        ["no-network", "task", `${list}lo`],
        ["public", "web", `${list}172.17.0.1 is not a public address\nlo`],
        // Of a network by Docker: all that its bridge leads to.
        ["public", "task", `172.17.0.1:8002\n169.254.169.254:80\n${list}eth0\nlo`]
      ] as const) {
        const keepFoldersIn = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-test-" })
        const { figures, group, told } = yield* Rolling.rolledOut(
          {
            tasks: yield* ContainerTasks.asked(mode),
            docker: program,
            groupSize: 1,
            network,
            keepFoldersIn,
            // By a proxy busybox makes a GET of a POST.
            command: `(${probe}) > probe.txt 2>/dev/null; unset http_proxy; ${ContainerTasks.asking}`
          },
          ContainerTasks.model
        )
        assert.isDefined(group, told)
        assert.deepStrictEqual(Array.from(group.scores), [1])
        assert.deepInclude(figures, { "agent/sessions": 1, "agent/failed": 0 })
        const [printed = ""] = globSync(`${keepFoldersIn}/*/work/verifier/test-stdout.txt`)
        assert.strictEqual(readFileSync(printed, "utf8").trim(), reached, `${mode} ${network}`)
      }
    })
  )
})
