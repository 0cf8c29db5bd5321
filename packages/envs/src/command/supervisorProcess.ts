/**
 * Ends programs; one process per environment, started by `ProcessSupervisor`.
 *
 * It is informed of every program before that begins (a line of JSON on its standard input). It ends all processes of a
 * program on request, and those of all programs when its standard input closes, so that kill -9 of the parent leaves
 * nothing behind. A program's processes are its process group and session, and on Linux every process with the
 * program's mark among its variables, even in its own session. Working folders are removed with them, and commands run
 * that remove what is elsewhere. Reports programs that exceed their memory limit. Imports nothing of the project, so
 * that it starts fast.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { readdirSync, readFileSync, rmSync } from "node:fs"
import { createInterface } from "node:readline"

interface Watched {
  readonly pid?: number
  readonly memoryBytes?: number
}

/** A message from `ProcessSupervisor`, one JSON line. */
interface Told extends Watched {
  readonly watch?: string
  readonly end?: string
  /** A folder to be removed at the end, a command to be run then, and one of either that no longer is. */
  readonly folder?: string
  readonly command?: string
  readonly words?: ReadonlyArray<string>
  readonly variables?: { readonly [name: string]: string }
  readonly left?: string
}

interface Running {
  readonly pid: number
  readonly group: number
  readonly session: number
  readonly bytes: number
}

const watched = new Map<string, Watched>()
const folders = new Set<string>()
const commands = new Map<string, Required<Pick<Told, "words" | "variables">>>()
const isLinux = process.platform === "linux"
const pageBytes = 4096
const patienceMillis = 10
const maxRounds = 200
const lookEveryMillis = 500
const commandMillis = 60_000

const text = (path: string): string | undefined => {
  try {
    return readFileSync(path, "latin1")
  } catch {
    // It has ended in the meantime, or belongs to another user.
    return undefined
  }
}

/**
 * Parses the fields after the name, which may contain anything: state, parent, group, session, and as the 22nd the
 * resident pages.
 */
const fromProc = (pid: string): Running | undefined => {
  const stat = text(`/proc/${pid}/stat`)
  const [state, , group, session, ...others] = stat?.slice(stat.lastIndexOf(")") + 2).split(" ") ?? []
  if (state === undefined || state === "Z" || state === "X") return undefined
  return { pid: Number(pid), group: Number(group), session: Number(session), bytes: Number(others[17]) * pageBytes }
}

const fromPs = (): ReadonlyArray<Running> =>
  execFileSync("ps", ["-axo", "pid=,pgid=,rss=,stat="], { encoding: "utf8" })
    .split("\n")
    .flatMap((line) => {
      const [pid, group, kilobytes, state = "Z"] = line.trim().split(/\s+/)
      if (pid === undefined || pid === "" || state.startsWith("Z")) return []
      return [{ pid: Number(pid), group: Number(group), session: Number(group), bytes: Number(kilobytes) * 1024 }]
    })

const running = (): ReadonlyArray<Running> =>
  isLinux ? readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? (fromProc(name) ?? []) : [])) : fromPs()

const hasMark = (pid: number, id: string): boolean =>
  isLinux && (text(`/proc/${pid}/environ`)?.includes(`ATROPOS_PROGRAM=${id}`) ?? false)

const belongs = ({ group, pid, session }: Running, id: string, leader: number | undefined): boolean =>
  pid !== process.pid && ((leader !== undefined && (group === leader || session === leader)) || hasMark(pid, id))

const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It has ended already.
  }
}

const pause = (millis: number): Promise<void> => new Promise((done) => setTimeout(done, millis))

/** Ends all processes of a program, including those it starts meanwhile; true if none is left. */
const end = async (id: string, { pid: leader }: Watched): Promise<boolean> => {
  let isGone = false
  for (let round = 0; round < maxRounds && !isGone; round++) {
    const found = running().filter((one) => belongs(one, id, leader))
    for (const { pid } of found) kill(pid)
    isGone = found.length === 0
    if (!isGone) await pause(patienceMillis)
  }
  return isGone
}

const send = (answer: object): void => void process.stdout.write(`${JSON.stringify(answer)}\n`)

const lookAtMemory = (): void => {
  const limited = Array.from(watched).filter(
    ([, { memoryBytes, pid }]) => memoryBytes !== undefined && pid !== undefined
  )
  if (limited.length === 0) return
  const all = running()
  for (const [id, { memoryBytes, pid }] of limited) {
    const bytes = all.reduce((sum, one) => (one.group === pid || one.session === pid ? sum + one.bytes : sum), 0)
    if (bytes > memoryBytes!) send({ tooLarge: id, bytes })
  }
}

const hear = (line: string): void => {
  // Only `ProcessSupervisor` writes these lines.
  const { command, end: toEnd, folder, left, variables = {}, watch, words = [], ...what } = JSON.parse(line) as Told
  if (watch !== undefined) watched.set(watch, { ...watched.get(watch), ...what })
  if (folder !== undefined) folders.add(folder)
  if (command !== undefined) commands.set(command, { words, variables })
  if (left !== undefined) {
    folders.delete(left)
    commands.delete(left)
  }
  if (toEnd === undefined) return
  void endAndSay(toEnd)
}

const endAndSay = async (id: string): Promise<void> => {
  const isGone = await end(id, watched.get(id) ?? {})
  watched.delete(id)
  send({ ended: id, isGone })
}

/** Waits, since a process killed while it started a program leaves one that appears a moment later. */
const endAll = async (): Promise<void> => {
  for (const wait of watched.size === 0 ? [] : [0, 100, 400]) {
    await pause(wait)
    for (const [id, one] of watched) await end(id, one)
  }
  for (const {
    variables,
    words: [program = "", ...words]
  } of commands.values()) {
    spawnSync(program, words, { env: variables, stdio: "ignore", timeout: commandMillis })
  }
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  process.exit(0)
}

// Ignored here: the process that this one serves handles them and ends its programs in order first.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined)
// The reader may be gone; the end of the input triggers the cleanup.
process.stdout.on("error", () => undefined)
setInterval(lookAtMemory, lookEveryMillis).unref()
createInterface({ input: process.stdin })
  .on("line", hear)
  .on("close", () => void endAll())
