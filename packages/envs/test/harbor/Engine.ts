/**
 * A Docker Engine for tests: a daemon with its own socket, data, processes and networks, which end with the test.
 *
 * Needs root and Debian's `docker.io` (dockerd, containerd, runc, a client), and `busybox-static`, of which its only
 * image is made (`atropos-test-base`, with a user `agent`): none can be pulled.
 */
import { assert } from "@effect/vitest"
import * as Executable from "@atropos/core/base/system/Executable"
import { Context, Effect, FileSystem, Layer, type Path, type Scope } from "effect"
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process"
import { globSync, readFileSync, rmdirSync } from "node:fs"
import { basename } from "node:path"
import * as Waits from "../../../core/test/base/Waits.ts"
import * as Words from "../../src/base/Words.ts"
import * as Rolling from "./Rolling.ts"

const missing = [
  ...(process.getuid?.() === 0 ? [] : ["root"]),
  ...["dockerd", "containerd", "runc", "docker", "busybox", "unshare", "nsenter", "ip"].filter(
    (program) => Executable.find(program) === undefined
  )
]

/** The end of a suite's name: what this machine lacks for an engine; empty: nothing. */
export const skipped = missing.length === 0 ? "" : ` (skipped: no Docker Engine, which needs ${missing.join(", ")})`

export interface Engine {
  /** The client with its daemon, for the setting `docker`. */
  readonly program: string
  /** Prints of a call of the client. */
  readonly call: (...words: ReadonlyArray<string>) => string
  /** Signals the daemon alone. */
  readonly signal: (name: NodeJS.Signals) => void
  /** Prints of a script of the shell in the daemon's network and among its processes. */
  readonly host: (script: string) => string
}

/** Mounts and processes end with the first process of their namespaces, which ends with its input. */
const script = `ip link set lo up; dockerd "$@" & cat > /dev/null`

const below = (parent: number | undefined): ReadonlyArray<number> =>
  readFileSync(`/proc/${parent}/task/${parent}/children`, "utf8").trim().split(" ").map(Number)

/** The first process, below `unshare`. */
const firstOf = ({ pid }: ChildProcess): number => below(pid)[0]!

const daemonOf = (child: ChildProcess): number => {
  const found = below(firstOf(child)).find((one) => readFileSync(`/proc/${one}/comm`, "utf8") === "dockerd\n")
  assert.isDefined(found, "a process of dockerd")
  return found
}

const base = Effect.fnUntraced(function* (folder: string, call: Engine["call"]) {
  const fs = yield* FileSystem.FileSystem
  const root = `${folder}/base`
  for (const path of ["bin", "etc", "tmp", "root", "home/agent"])
    yield* fs.makeDirectory(`${root}/${path}`, { recursive: true })
  yield* fs.writeFileString(
    `${root}/etc/passwd`,
    "root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1000:agent:/home/agent:/bin/sh\n"
  )
  yield* fs.writeFileString(`${root}/etc/group`, "root:x:0:\nagent:x:1000:\n")
  yield* fs.chmod(`${root}/tmp`, 0o1777)
  yield* fs.copyFile(Executable.find("busybox")!, `${root}/bin/busybox`)
  execFileSync("chroot", [root, "/bin/busybox", "--install", "-s", "/bin"])
  execFileSync("tar", ["-C", root, "-cf", `${folder}/base.tar`, "."])
  call("import", `${folder}/base.tar`, "atropos-test-base")
})

/** Groups of a daemon that was killed, from the inmost. */
const removeCgroups = (name: string): void => {
  const all = globSync([`/sys/fs/cgroup/${name}/**/`, `/sys/fs/cgroup/*/${name}/**/`])
  for (const folder of all.toSorted((a, b) => b.length - a.length)) rmdirSync(folder)
}

/** A daemon for the lifetime of the scope. */
export const engine = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped({ prefix: "atropos-engine-" })
  const socket = `${folder}/docker.sock`
  const options = Object.entries({
    host: `unix://${socket}`,
    pidfile: `${folder}/pid`,
    "cgroup-parent": `/${basename(folder)}`,
    "data-root": `${folder}/data`,
    "exec-root": `${folder}/exec`
  }).flatMap(([name, value]) => [`--${name}`, value])
  const namespaces = ["--net", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc"]
  let log = ""
  const daemon = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn("unshare", [...namespaces, "sh", "-c", script, "sh", ...options], {
        stdio: ["pipe", "pipe", "pipe"]
      })
      child.stderr.on("data", (bytes: Buffer) => {
        log += bytes.toString()
      })
      child.stdout.resume()
      return child
    }),
    (child) =>
      Effect.callback<void>((resume) => {
        child.once("close", () => resume(Effect.sync(() => removeCgroups(basename(folder)))))
        child.stdin.end()
      })
  )
  yield* Waits.until(
    "the Docker Engine",
    Effect.sync(() => log),
    (text) => text.includes("API listen on")
  )
  const client = ["--host", `unix://${socket}`]
  const call: Engine["call"] = (...words) => {
    const { status, stderr, stdout } = spawnSync("docker", [...client, ...words], { encoding: "utf8" })
    assert.strictEqual(status, 0, `docker ${words.join(" ")}: ${stderr}`)
    return stdout.trim()
  }
  yield* base(folder, call)
  return {
    program: Words.join(["docker", ...client]),
    call,
    signal: (name) => process.kill(daemonOf(daemon), name),
    host: (text) => {
      const namespaces = ["--target", String(firstOf(daemon)), "--net", "--pid", "--mount"]
      return execFileSync("nsenter", [...namespaces, "sh", "-c", text], { encoding: "utf8" }).trim()
    }
  } satisfies Engine
})

/** One daemon for the suites of a file. */
export class Docker extends Context.Service<Docker, Engine>()("test/Docker") {}

export type Needs = Docker | FileSystem.FileSystem | Path.Path | Scope.Scope

export const services = Layer.effect(Docker, engine).pipe(Layer.provideMerge(Rolling.platform))

/** What is left in it of rollouts. */
export const left = Effect.map(Docker, ({ call }) => ({
  containers: call("ps", "--all", "--quiet"),
  snapshots: call("images", "--quiet", "atropos-trial")
}))

export const nothing = { containers: "", snapshots: "" }
