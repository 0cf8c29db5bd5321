/**
 * A stand-in for `docker`: it takes the calls that the environment makes and no others, keeps containers and images as
 * folders, and writes every call down. Absolute paths in commands are those of the container's folder; scripts of tasks
 * find it in STAND_IN. Usage: node docker.mjs FOLDER <docker's words>
 */
import { execFileSync, spawn, spawnSync } from "node:child_process"
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { basename, dirname, join } from "node:path"

const [state, verb, ...words] = process.argv.slice(2)
const fail = (message, code = 1) => {
  process.stderr.write(`${message}\n`)
  process.exit(code)
}
const folder = (kind, name) => join(state, kind, name.replaceAll(/[^\w.-]/g, "_"))
const inContainer = (name, path) => join(folder("containers", name), "root", path)
appendFileSync(join(state, "calls.jsonl"), `${JSON.stringify([verb, ...words])}\n`)

/** The options of a call, and what stands behind them; one that is not known ends the call. */
const options = (given, valued, plain = []) => {
  const found = {}
  let at = 0
  while (at < given.length && given[at].startsWith("--")) {
    const name = given[at].slice(2)
    if (plain.includes(name)) found[name] = true
    else if (valued.includes(name)) (found[name] ??= []).push(given[++at])
    else fail(`docker ${verb}: there is no option --${name}`, 64)
    at++
  }
  return { found, rest: given.slice(at) }
}

const container = (name) => {
  const file = join(folder("containers", name), "about.json")
  if (!existsSync(file)) fail(`Error: No such container: ${name}`)
  return JSON.parse(readFileSync(file, "utf8"))
}
const isRunning = (name) => existsSync(join(folder("containers", name), "running"))

/** Variables by name are taken from the call's own. */
const variables = (given = []) =>
  Object.fromEntries(
    given.map((one) => {
      const at = one.indexOf("=")
      if (at !== -1) return [one.slice(0, at), one.slice(at + 1)]
      return process.env[one] === undefined
        ? fail(`docker: the call has no variable ${one}`, 64)
        : [one, process.env[one]]
    })
  )

const verbs = {
  version: () => console.log("28.2.2"),
  ps: () => {
    for (const name of existsSync(join(state, "containers")) ? readdirSync(join(state, "containers")) : []) {
      console.log(`${name} ${container(name).label.split("=")[1]}`)
    }
  },
  images: () => undefined,
  build: () => {
    const { found, rest } = options(words, ["tag"])
    const image = folder("images", found.tag[0])
    if (!existsSync(join(rest[0], "Dockerfile"))) fail("failed to read dockerfile: no such file")
    if (readFileSync(join(rest[0], "Dockerfile"), "utf8").includes("RUN false"))
      fail('process "/bin/sh -c false" did not complete')
    rmSync(image, { recursive: true, force: true })
    cpSync(rest[0], join(image, "app"), { recursive: true })
  },
  image: () => {
    if (words[0] !== "inspect") fail(`docker image ${words[0]}`, 64)
    if (!existsSync(folder("images", words.at(-1)))) fail(`Error: No such image: ${words.at(-1)}`)
    if (words[1] === "--format") console.log("/app")
  },
  pull: () =>
    words[0] === "known:1"
      ? mkdirSync(join(folder("images", words[0]), "app"), { recursive: true })
      : fail("pull access denied"),
  run: () => {
    const { found, rest } = options(
      words,
      ["name", "label", "network", "cpus", "memory", "gpus", "workdir", "env", "volume", "volumes-from"],
      ["interactive", "init"]
    )
    const [image, ...command] = rest
    const [name] = found.name
    const own = folder("containers", name)
    if (!existsSync(folder("images", image))) fail(`Unable to find image '${image}'`, 125)
    cpSync(folder("images", image), join(own, "root"), { recursive: true })
    for (const volume of found.volume ?? []) {
      const [host, inside] = volume.split(":")
      const place = inContainer(name, inside)
      // A mount hides what the image has there.
      rmSync(place, { recursive: true, force: true })
      mkdirSync(dirname(place), { recursive: true })
      symlinkSync(host, place)
    }
    writeFileSync(join(own, "about.json"), JSON.stringify({ label: found.label[0], env: variables(found.env), image }))
    // It says that it runs before it says anything else.
    const started = ["-c", 'echo $$ > "$0"; exec "$@"', join(own, "running"), ...command]
    const child = spawn("sh", started, { stdio: ["inherit", "inherit", "inherit"] })
    child.on("exit", (code) => {
      rmSync(join(own, "running"), { force: true })
      process.exit(code ?? 137)
    })
  },
  exec: () => {
    const { found, rest } = options(words, ["user", "workdir", "env"], ["interactive"])
    const [name, ...command] = rest
    const { env } = container(name)
    if (!isRunning(name)) fail(`container ${name} is not running`)
    const root = join(folder("containers", name), "root")
    const inside = command.map((word) =>
      word.replaceAll(/(?<![\w./-])\/(?=app|tests|logs|solution|agent)/g, `${root}/`)
    )
    const ran = spawnSync(inside[0], inside.slice(1), {
      cwd: join(root, "app"),
      env: { PATH: process.env.PATH, STAND_IN: root, USER: found.user?.[0] ?? "", ...env, ...variables(found.env) },
      stdio: ["inherit", "inherit", "inherit"]
    })
    process.exit(ran.status ?? 137)
  },
  cp: () => {
    const [from, to] = words.map((word) => {
      const [name, path] = word.startsWith("atropos-") ? word.split(":") : [undefined, word]
      return name === undefined ? path : `${inContainer(name, path)}${path.endsWith("/") ? "/" : ""}`
    })
    if (!existsSync(from)) fail(`Error response from daemon: Could not find the file ${from} in container`)
    cpSync(from, to.endsWith("/") ? join(to, basename(from)) : to, { recursive: true })
  },
  stop: () => {
    const { rest } = options(words, ["time"])
    container(rest[0])
    const running = join(folder("containers", rest[0]), "running")
    if (existsSync(running)) process.kill(Number(readFileSync(running, "utf8")), "SIGKILL")
    rmSync(running, { force: true })
  },
  commit: () => {
    const { rest } = options(words, ["change"])
    if (isRunning(rest[0])) fail("the stand-in wants a container to be stopped before its files are kept", 64)
    execFileSync("cp", ["-a", join(folder("containers", rest[0]), "root"), folder("images", rest[1])])
  },
  rm: () => {
    const { rest } = options(words, [], ["force", "volumes"])
    const [name] = rest
    if (!existsSync(folder("containers", name))) fail(`Error: No such container: ${name}`)
    const running = join(folder("containers", name), "running")
    if (existsSync(running)) process.kill(Number(readFileSync(running, "utf8")), "SIGKILL")
    rmSync(folder("containers", name), { recursive: true, force: true })
  },
  rmi: () => rmSync(folder("images", words.at(-1)), { recursive: true, force: true })
}

if (verbs[verb] === undefined) fail(`docker: '${verb}' is not a docker command`, 64)
verbs[verb]()
