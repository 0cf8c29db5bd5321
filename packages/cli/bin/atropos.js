#!/usr/bin/env node
/**
 * Starts the command: from the sources in a checkout, from `dist` where the package is installed.
 *
 * The sources need a Node that strips types and the export condition `atropos-src`. Where this process lacks either
 * (the system's Node is older, or the condition was not given), the project's own Node takes over, in place where the
 * platform can do that. A service also wants other limits for its heap, which only a new process can have.
 * Plain JavaScript that Node 18 understands, so that an old Node gets far enough to hand over or to say what is
 * missing.
 */
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import * as module from "node:module"
import { dirname, join, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { watch, wrapperVariable } from "./parent.js"

const here = dirname(fileURLToPath(import.meta.url))
const source = join(here, "..", "src", "main.ts")
const isCheckout = !here.split(sep).includes("node_modules") && existsSync(source)
const condition = "--conditions=atropos-src"

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
const isRecent = major > 24 || major === 24 || (major === 22 && minor >= 19)
const given = [...process.execArgv, ...(process.env.NODE_OPTIONS ?? "").split(" ")]
const hasCondition = given.includes(condition)

/**
 * For the verbs that serve: request bodies live outside of V8's heap, and by default every 64 MB of them (150 groups)
 * start a garbage collection of the whole heap, which then takes more than half of all time. Measured with V8 13 (Node
 * 24), so only there.
 */
const heapFlags = ["--external-memory-accounted-in-global-limit", "--initial-heap-size=256"]
const serves = ["api", "up"].includes(process.argv[2] ?? "")
const wantedFlags =
  serves && major === 24 && !given.some((flag) => flag.startsWith("--initial-heap-size")) ? heapFlags : []

/** The Node that `npm ci` installed for the project: in the nearest `node_modules` above. */
const projectNode = () => {
  const name = process.platform === "win32" ? "node.exe" : "node"
  for (let folder = here; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", "node", "bin", name)
    if (existsSync(candidate)) return candidate
    if (dirname(folder) === folder) return undefined
  }
}

const handOver = (node, flags) => {
  const args = [...flags, ...(isCheckout ? [condition] : []), fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  if (process.execve !== undefined && process.platform !== "win32") {
    process.execve(node, [node, ...args], process.env)
  }
  watch()
  const env = { ...process.env, [wrapperVariable]: String(process.pid) }
  const child = spawn(node, args, { stdio: "inherit", env })
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"]
  const passOn = (signal) => child.kill(signal)
  for (const signal of signals) process.on(signal, passOn)
  child.on("error", (error) => {
    console.error(`atropos: ${node} did not start: ${error.message}`)
    process.exit(1)
  })
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1)
    // Ends as the program did, so that whoever started this one sees the same.
    for (const one of signals) process.off(one, passOn)
    process.kill(process.pid, signal)
  })
}

// Node 22 warns of its SQLite, which locks are made with, at every start, and every Node of stripping types; that is
// nothing that the user can mend.
const emitWarning = process.emitWarning.bind(process)
process.emitWarning = (warning, ...more) => {
  if (!/^(SQLite|stripTypeScriptTypes) is an experimental feature/.test(String(warning))) emitWarning(warning, ...more)
}

if (isRecent && (hasCondition || !isCheckout) && wantedFlags.length === 0) {
  watch()
  module.enableCompileCache?.()
  await import(isCheckout ? "../src/main.ts" : "../dist/main.js")
} else {
  const node = isRecent ? process.execPath : projectNode()
  if (node === undefined) {
    const remedy = isCheckout
      ? 'run "npm ci" in the project, which brings its own, or install Node 24'
      : 'install Node 24, or let the project bring its own: "npm install node@24"'
    console.error(`atropos needs Node 22.19 or newer and runs under ${process.version}: ${remedy}`)
    process.exit(1)
  }
  handOver(node, wantedFlags)
}
