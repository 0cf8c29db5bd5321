/**
 * A process that locks folders on request: one line `hold <folder>` each, answered by `held` or by the refusal as JSON.
 */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { Effect, Layer, Result, Scope } from "effect"
import { createInterface } from "node:readline"
import * as FolderLock from "../../src/base/system/FolderLock.ts"

const services = Layer.merge(NodeFileSystem.layer, NodePath.layer)
const scope = Scope.makeUnsafe()

createInterface(process.stdin).on("line", (line) => {
  const folder = line.slice("hold ".length)
  void Effect.runPromise(
    Effect.result(Scope.provide(FolderLock.hold(folder), scope)).pipe(
      Effect.map(
        Result.match({ onSuccess: () => "held", onFailure: ({ holder, isHeld }) => JSON.stringify({ holder, isHeld }) })
      ),
      Effect.provide(services)
    )
  ).then((answer) => console.log(answer))
})
console.log("ready")
