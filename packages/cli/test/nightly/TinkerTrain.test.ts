/** `atropos train --engine tinker+http://…` beside its three neighbours, as a user starts them. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as TinyModel from "@atropos/trainer/model/TinyModel"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { fileURLToPath } from "node:url"
import * as InProcess from "../InProcess.ts"

const steps = 8
const environment = fileURLToPath(new URL("../fixtures/ones.ts", import.meta.url))

const words = (verb: string, flags: Record<string, string>): ReadonlyArray<string> => [
  verb,
  ...Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value])
]

const train = (engine: string, service: string) =>
  words("train", {
    engine,
    model: "./my-model",
    atropos_url: service,
    steps: String(steps),
    batch_size: "16",
    checkpoint_interval: "2",
    on_stale: "wait",
    max_staleness: "1",
    lr: "0.01",
    threads: "1"
  })

/** The environment, whose answers come from the policy that the trainer serves. */
const serve = (service: string, policy: string) =>
  words("serve", {
    env: environment,
    "env.rollout_server_url": service,
    "openai.base_url": policy,
    "env.tokenizer_name": "./my-model",
    "env.total_steps": "-1"
  })

it.live("a trainer on a Tinker server serves its policy to environments, stops at Ctrl-C and goes on", () =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const cwd = yield* InProcess.folder
    const model = TinyModel.make({ characters: "0123456789", seed: 1, maxPositions: 64 })
    yield* model.write(`${cwd}/my-model`, model.initial)
    const api = yield* InProcess.start(["api", "--port", "0"])
    const [, service = ""] = yield* api.says(/trajectory service at (http:\S+)/)
    const tinker = yield* InProcess.start(["tinker", "--model", "./my-model", "--port", "0", "--threads", "1"])
    const [, address = ""] = yield* tinker.says(/Tinker's API for \S+ at (http:\S+)/)
    const training = train(`tinker+${address}`, service)

    const first = yield* InProcess.start(training)
    const [, policy = ""] = yield* first.says(/policy at (http:\S+)/)
    yield* Effect.scoped(
      Effect.gen(function* () {
        const rollouts = yield* InProcess.start(serve(service, policy))
        yield* rollouts.says(/environment registered/)
        yield* first.says(new RegExp(`^[3-6]/${steps} steps`, "m"))
        const stopped = yield* first.interrupt
        assert.strictEqual(stopped.code, 130)
        assert.match(stopped.stdout, /stopped after step \d of 8, saved in \S+: the same command continues from there/)
        assert.include(stopped.stdout, `engine: ${address} (Tinker)`)
      })
    )

    // Weights of a server are not this machine's: neither silently loaded nor silently left behind.
    const local = yield* InProcess.run(training.filter((_, at) => at !== 1 && at !== 2))
    assert.strictEqual(local.code, 1)
    assert.match(
      local.stderr,
      /contains weights of the engine http:\S+, not of this machine: continue with that engine/
    )

    const second = yield* InProcess.start(training)
    const [, again = ""] = yield* second.says(/policy at (http:\S+)/)
    const rollouts = yield* InProcess.start(serve(service, again))
    const { code, stdout } = yield* second.ended
    assert.strictEqual(code, 0)
    assert.match(stdout, /resuming after step [3-7] of 8/)
    assert.strictEqual((yield* rollouts.ended).code, 0)
    const written = yield* fs.readFileString(`${cwd}/trained_model_checkpoints/metrics.jsonl`)
    const lines = written
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    assert.deepStrictEqual(
      lines.map(({ step }) => step),
      Array.from({ length: steps }, (_, step) => step + 1)
    )
    for (const line of lines) {
      assert.isAbove(line["train/grad_norm"], 0)
      // Sampled by the weights that are trained, or by those before them.
      assert.isBelow(line["alignment/diff_abs_mean"], line["staleness/max"] === 0 ? 1e-4 : 0.5)
    }
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
)
