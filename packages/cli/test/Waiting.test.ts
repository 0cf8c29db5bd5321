/** Whoever waits says for what, why, and which command would help. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type FileSystem, type Scope } from "effect"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { fileURLToPath } from "node:url"
import * as Bin from "./Bin.ts"
import * as Ports from "../../core/test/base/Ports.ts"
import * as InProcess from "./InProcess.ts"
import * as Service from "./crash/Service.ts"

const model = fileURLToPath(new URL("../../trainer/test/fixtures/models/qwen3", import.meta.url))

const start = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
  yield* InProcess.folder
  return yield* InProcess.start(words)
})

/** A service that was not there before. */
const serve = Effect.fnUntraced(function* (port: number) {
  const { env } = yield* Service.fastest.make
  return yield* InProcess.start(["api", "--port", String(port)], env)
})

const train = (url: string) =>
  start("train", "--model", model, "--atropos-url", url, "--device", "cpu", "--seq-len", "64", "--batch-size", "8")

const test = <E>(
  name: string,
  effect: Effect.Effect<void, E, FileSystem.FileSystem | Scope.Scope | NodeServices.NodeServices>
) => it.live(name, () => effect.pipe(Effect.scoped, Effect.provide([NodeServices.layer, NodeHttpClient.layerUndici])))

describe("who waits says for what", () => {
  test(
    "train: for the service, then for batches",
    Effect.gen(function* () {
      const port = yield* Ports.held
      const trainer = yield* train(`http://127.0.0.1:${port}`)
      const [said] = yield* trainer.says(/waiting for the trajectory service; start one: npx @atropos\/cli api[^}]*}/)
      assert.match(said, /ECONNREFUSED/)
      assert.match(said, /seconds: 1\b/)
      yield* serve(port)
      yield* trainer.says(
        /waiting for a batch; if no environment is running, start one: npx @atropos\/cli serve --env …/
      )
    })
  )

  test(
    "serve: for the service, then for a trainer",
    Effect.gen(function* () {
      const port = yield* Ports.held
      const words = ["--env", Bin.myEnvironment, "--testing", "--env.rollout_server_url", `http://127.0.0.1:${port}`]
      const environment = yield* start("serve", ...words)
      yield* environment.says(/waiting for the trajectory service; start one: npx @atropos\/cli api/)
      yield* serve(port)
      yield* environment.says(
        /waiting for a trainer to request its first batch; start one: npx @atropos\/cli train --model …/
      )
    })
  )

  test(
    "train and serve: for a service that takes the connection and does not answer",
    Effect.gen(function* () {
      const url = yield* Ports.silent
      const trainer = yield* train(url)
      yield* trainer.says(/waiting for the trajectory service to answer \{ seconds: 1 \}/)
      yield* trainer.interrupt
      const environment = yield* start(
        "serve",
        "--env",
        Bin.myEnvironment,
        "--testing",
        "--env.rollout_server_url",
        url
      )
      yield* environment.says(/waiting for the trajectory service to answer \{ seconds: 1 \}/)
    })
  )

  for (const verb of ["top", "runs"]) {
    test(
      `${verb}: for a service that takes the connection and does not answer`,
      Effect.gen(function* () {
        const url = yield* Ports.silent
        const [said] = yield* (yield* start(verb, "--api-url", url)).says(/waiting for the trajectory service .*/)
        assert.strictEqual(said, `waiting for the trajectory service at ${url}: 1 s so far`)
      })
    )
  }

  test(
    "evaluate: for an inference server that takes the connection and does not answer",
    Effect.gen(function* () {
      const url = yield* Ports.silent
      const words = ["--env", Bin.myEnvironment, "--env.tokenizer_name", "bytes", "--openai.base_url", `${url}/v1`]
      const [said] = yield* (yield* start("evaluate", ...words)).says(
        /waiting for an inference server to answer [^}]*}/
      )
      assert.include(said, `${url}/v1`)
    })
  )

  for (const verb of ["process", "evaluate"]) {
    test(
      `${verb}: for an inference server`,
      Effect.gen(function* () {
        const url = yield* Ports.hangingUp
        const waiting = yield* start(verb, "--env", Bin.myEnvironment, "--openai.base_url", `${url}/v1`)
        const [said] = yield* waiting.says(/waiting for an inference server; start one .*[^}]*}/)
        assert.include(said, "npx @atropos/cli policy --model")
        assert.include(said, url)
      })
    )
  }
})
