import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FileSystem, Layer } from "effect"
import { TestConsole } from "effect/testing"
import * as Presentation from "../../src/help/Presentation.ts"
import * as Progress from "../../src/base/Progress.ts"
import * as Root from "../../src/Root.ts"
import * as Bin from "../Bin.ts"
import * as Browser from "../viewer/Browser.ts"

const layer = Layer.mergeAll(NodeServices.layer, Presentation.layer, Layer.succeed(Progress.Presenter, "lines"))

describe.skipIf(!Browser.isPresent)(`the page that process writes${Browser.absence}`, () => {
  const { open, save } = Browser.suite()

  it.effect("is one file under 5 MB for a hundred groups, and shows them from disk without a request", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* Bin.folder
      // The viewer is built where it is not, or is older than its sources.
      yield* Effect.sync(() => save("empty", { title: "", runs: [] }))
      const exit = yield* Effect.exit(
        Root.run([
          "process",
          "--env=arithmetic-stories",
          "--testing",
          "--env.total_steps=100",
          "--env.group_size=8",
          `--env.data_path_to_save_groups=${folder}/groups.jsonl`
        ])
      )
      assert.isTrue(Exit.isSuccess(exit))
      assert.match(
        (yield* TestConsole.logLines).map(String).join("\n"),
        /page +\S+groups\.html \(100 groups, [\d.]+ MB\)/
      )
      assert.isBelow(Number((yield* fs.stat(`${folder}/groups.html`)).size), 5_000_000)
      const opened = yield* Effect.promise(() => open(`file://${folder}/groups.html#/groups`))
      yield* Effect.promise(() => Browser.becomes(() => opened.page.locator(".groups-count").innerText(), "100"))
      assert.deepStrictEqual(opened.requests, [])
      assert.deepStrictEqual(opened.errors, [])
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})
