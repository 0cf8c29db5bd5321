/** Warns of what tasks with a network reach of this machine, by the ports on which its programs listen (Linux). */
import { Effect, FileSystem } from "effect"
import * as Box from "./Box.ts"
import type { Settings } from "./HarborSettings.ts"
import type { Task } from "./Task.ts"

/** The state of a socket that listens. */
const listening = "0A"

/** 127.0.0.0/8 and ::1, as the kernel writes them. */
const loopback = /^(?:.{6}7F|0{24}01000000)$/

/** Ports by lines of `/proc/net/tcp`; without those on the loopback alone, unless it can be reached. */
export const parse = (text: string, hasLoopback: boolean): ReadonlyArray<number> =>
  text.split("\n").flatMap((line) => {
    const [, local = "", , state] = line.trim().split(/\s+/)
    const [address = "", port = ""] = local.split(":")
    return state === listening && (hasLoopback || !loopback.test(address)) ? [Number.parseInt(port, 16)] : []
  })

/** For tasks that run in the same way. */
export const warn = Effect.fnUntraced(function* (
  tasks: ReadonlyArray<Task>,
  network: Settings["network"],
  isLocal: boolean
): Effect.fn.Return<void, never, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const connected = tasks.filter((task) =>
    [task.machine, task.verifier].some((one) => Box.networkOf(one, network, !isLocal) === "full")
  )
  if (connected.length === 0) return
  const tables = yield* Effect.forEach(["tcp", "tcp6"], (name) =>
    Effect.orElseSucceed(fs.readFileString(`/proc/net/${name}`), () => "")
  )
  const ports = new Set(tables.flatMap((text) => parse(text, isLocal)))
  if (ports.size === 0) return
  yield* Effect.logWarning(
    "tasks with a network can connect to programs of this machine: if you do not trust them, set --env.network web",
    { ports: [...ports].toSorted((a, b) => a - b), tasks: connected.map(({ name }) => name) }
  )
})
