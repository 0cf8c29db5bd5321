/** Records abandoned items and groups, one JSON line each with the reason, so that nothing disappears silently. */
import { DateTime, Effect, FileSystem, Path } from "effect"
import * as WireGroup from "../../service/WireGroup.ts"
import type { Delivery } from "./Delivery.ts"

export interface DeadLetters {
  readonly item: (letter: {
    readonly index: number
    readonly item: string
    readonly attempts: number
    readonly reason: string
  }) => Effect.Effect<void>
  /** A group the service rejected; the line contains the group itself. */
  readonly group: (delivery: Delivery, reason: string) => Effect.Effect<void>
}

/** Dead letters of an environment, appended to `file`. A line that cannot be written is logged in full. */
export const make = Effect.fn("DeadLetters.make")(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const write = Effect.fnUntraced(function* (letter: { readonly [key: string]: unknown }, group?: string) {
    const at = DateTime.formatIso(yield* DateTime.now)
    const json = JSON.stringify({ at, ...letter })
    const line = group === undefined ? json : `${json.slice(0, -1)},"group":${group}}`
    yield* fs.makeDirectory(path.dirname(file), { recursive: true }).pipe(
      Effect.andThen(fs.writeFileString(file, `${line}\n`, { flag: "a" })),
      Effect.catch((cause) => Effect.logError("dead letter could not be written", { file, line, cause }))
    )
  })
  const letters: DeadLetters = {
    item: (letter) => write({ kind: "item", ...letter }),
    group: ({ group, index, key }, reason) => write({ kind: "group", index, key, reason }, WireGroup.encode(group))
  }
  return letters
})
