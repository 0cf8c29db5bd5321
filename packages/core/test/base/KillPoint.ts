/**
 * Ends a test's process by SIGKILL at a named point: before or after a call, at its n-th time in this process. As after
 * a kill from outside, nothing of the process runs after it, but the point is deterministic.
 */
import { Effect, FileSystem, Layer } from "effect"

/** For example `before update 2`; counted from 1. */
export type KillPoint = `${"before" | "in" | "after"} ${string} ${number}`

export interface KillPoints {
  /** Marks a point that is not a call. */
  readonly reach: (point: string) => void
  /** A call with a point before it and one after its success. */
  readonly around: <A, E, R>(name: string, call: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

/** The points of this process, which dies at the wanted one; an empty one is never reached. */
export const make = (wanted: string): KillPoints => {
  const [, point = "", count = ""] = /^(.+) (\d+)$/.exec(wanted) ?? []
  let left = Number(count)
  const reach = (at: string) => {
    if (at === point && --left === 0) process.kill(process.pid, "SIGKILL")
  }
  return {
    reach,
    around: (name, call) =>
      Effect.suspend(() => {
        reach(`before ${name}`)
        return Effect.tap(call, () => Effect.sync(() => reach(`after ${name}`)))
      })
  }
}

/** A file system with points around renames to targets that match `names`, under the given name. */
export const layerRenames = ({ around }: KillPoints, names: ReadonlyArray<readonly [name: string, target: RegExp]>) =>
  Layer.effect(
    FileSystem.FileSystem,
    Effect.map(FileSystem.FileSystem, (fs) => ({
      ...fs,
      rename: (from, to) => {
        const named = names.find(([, target]) => target.test(to))
        return named === undefined ? fs.rename(from, to) : around(named[0], fs.rename(from, to))
      }
    }))
  )
