/** A recording gateway on a full disk: what was answered is recorded, once, and no line is torn or glued. */
import { ServerManager } from "@atropos/core"
import * as Gateway from "@atropos/core/gateway/Gateway"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Recorder from "../src/gateway/Recorder.ts"
import * as FullDisk from "./FullDisk.ts"

const ask = (baseURL: string, content: string) =>
  Effect.promise(async () => {
    const answer = await fetch(`${baseURL}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "any", messages: [{ role: "user", content }] })
    })
    return { status: answer.status, text: await answer.text() }
  })

/** The contents of the users' messages of what was recorded. */
const asked = (lines: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  lines.flatMap((line) => JSON.stringify(line).match(/question \d+/g) ?? [])

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "atropos-test-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const recording = Effect.fnUntraced(function* (file: string) {
  const recorder = yield* Recorder.make(file, undefined)
  const servers = ServerManager.layerScripted(() => "An answer.")
  const { onChange, onEnd } = recorder
  const context = yield* Layer.build(Layer.provide(Gateway.layer({ isControlled: true, onChange, onEnd }), servers))
  const { open } = Context.get(context, Gateway.Gateway)
  /** One session with one question, ended. */
  const session = (number: number) =>
    Effect.scoped(Effect.flatMap(open(), ({ baseURL }) => ask(baseURL, `question ${number}`)))
  return { open, session }
})

describe("a recording gateway on a full disk", () => {
  it.live("answers with an error what it cannot keep, keeps all that it has answered, and tears no line", () =>
    Effect.gen(function* () {
      const file = `${yield* folder}/sessions.jsonl`
      // Every point at which a disk can be full: in the middle of what is open, of a line, or between the two.
      for (let room = 0; room < 3000; room += 157) {
        const disk = { left: Number.POSITIVE_INFINITY }
        rmSync(file, { force: true })
        rmSync(file.replace(".jsonl", ".unscored.jsonl"), { force: true })
        const answered: Array<string> = []
        yield* Effect.gen(function* () {
          const { session } = yield* recording(file)
          const go = Effect.fnUntraced(function* (number: number) {
            const { status, text } = yield* session(number)
            if (status === 200) return void answered.push(`question ${number}`)
            assert.strictEqual(status, 500)
            assert.include(text, "could not be recorded")
            assert.include(text, "the disk is full")
          })
          yield* go(1)
          disk.left = room
          for (const number of [2, 3, 4, 5]) yield* go(number)
          disk.left = Number.POSITIVE_INFINITY
          yield* go(6)
        }).pipe(Effect.scoped, Effect.provide(FullDisk.layer(disk)))
        assert.include(answered, "question 6")
        const found = asked(FullDisk.lines(file.replace(".jsonl", ".unscored.jsonl")))
        // None that was given is missing or there twice, and none is there whose client got an error.
        assert.deepStrictEqual(found.toSorted(), answered.toSorted(), `room ${room}`)
        assert.isUndefined(statSync(file.replace(".jsonl", ".open"), { throwIfNoEntry: false }))
      }
    }).pipe(Effect.scoped)
  )

  it.live("leaves what it could not record to the next gateway", () =>
    Effect.gen(function* () {
      const file = `${yield* folder}/sessions.jsonl`
      const disk = { left: Number.POSITIVE_INFINITY }
      yield* Effect.gen(function* () {
        const { open } = yield* recording(file)
        yield* Effect.scoped(
          Effect.gen(function* () {
            const { baseURL } = yield* open()
            assert.strictEqual((yield* ask(baseURL, "question 1")).status, 200)
            // It ends on a disk that is full, and stays so.
            disk.left = 10
          })
        )
      }).pipe(Effect.scoped, Effect.provide(FullDisk.layer(disk)))
      assert.deepStrictEqual(FullDisk.lines(file.replace(".jsonl", ".unscored.jsonl")), [])
      assert.strictEqual(readdirSync(file.replace(".jsonl", ".open")).length, 1)
      disk.left = Number.POSITIVE_INFINITY
      yield* recording(file).pipe(Effect.scoped, Effect.provide(FullDisk.layer(disk)))
      assert.deepStrictEqual(asked(FullDisk.lines(file.replace(".jsonl", ".unscored.jsonl"))), ["question 1"])
    }).pipe(Effect.scoped)
  )
})
