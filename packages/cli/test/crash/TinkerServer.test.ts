/** A Tinker server killed twice under a run that trains on it: the run's parameters are those of a run without. */
import { NodeServices } from "@effect/platform-node"
import * as TinyModel from "@atropos/trainer/model/TinyModel"
import { assert, it } from "@effect/vitest"
import { Effect, FileSystem, Path } from "effect"
import * as Atropos from "./Atropos.ts"

const steps = 12
/** Steps after which the server is killed: one with a checkpoint before it, one in the middle of two. */
const kills = [4, 9]

const flags = {
  env: "sort-letters",
  loss: "sft",
  steps: String(steps),
  batch_size: "16",
  seed: "1",
  seq_len: "16",
  port: "0",
  policy_port: "0",
  threads: "1",
  checkpoint_interval: "3",
  "env.max_token_length": "8",
  "env.group_size": "4"
}

const words = Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value])

/** The weights and moments of the last checkpoint, as the server wrote them. */
const lastSaved = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const files = yield* fs.readDirectory(folder, { recursive: true })
  const saved = files.filter(
    (file) => file.includes(`/weights/step-${steps}-`) && file.endsWith("trainer_state.safetensors")
  )
  assert.strictEqual(saved.length, 1, files.join("\n"))
  return yield* fs.readFile(join(folder, saved[0]!))
})

/** A run on a server that is killed at those steps, and started again each time. */
const trained = Effect.fnUntraced(function* (kills: ReadonlyArray<number>) {
  const { join } = yield* Path.Path
  const cwd = yield* Atropos.folder
  const model = TinyModel.make({ characters: "abcdefghij=", seed: 1, maxPositions: 16 })
  yield* model.write(join(cwd, "model"), model.initial)
  const port = yield* Atropos.freePort
  const serve = Effect.tap(
    Atropos.start(["tinker", "--model", "./model", "--port", String(port), "--threads", "1"], { cwd }),
    (server) => server.says("Tinker's API for")
  )
  let server = yield* serve
  const run = yield* Atropos.start(
    ["up", ...words, "--engine", `tinker+http://localhost:${port}`, "--model", "./model"],
    { cwd }
  )
  for (const step of kills) {
    yield* run.says(new RegExp(`^(${step}|${step + 1}|${step + 2})/${steps} steps`, "m"))
    yield* server.kill
    server = yield* serve
  }
  const { code, err, out } = yield* run.ended
  assert.strictEqual(code, 0, out + err)
  return { said: run.said(), state: yield* lastSaved(join(cwd, ".atropos", "tinker")) }
})

it.live("a server that is killed twice leaves the run's parameters as they would have been, bit for bit", () =>
  Effect.gen(function* () {
    const undisturbed = yield* trained([])
    const killed = yield* trained(kills)
    assert.include(killed.said, "going back to the last checkpoint")
    assert.deepStrictEqual(killed.state, undisturbed.state)
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
)
