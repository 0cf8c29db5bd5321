/**
 * Runs a SkyRL server on this machine's CPU until stopped. It is a separate program with hundreds of packages, so the
 * user provides its interpreter: `ATROPOS_SKYRL_PYTHON`.
 */
import { createServer } from "node:net"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { setTimeout as sleep } from "node:timers/promises"
import { start } from "../Processes.ts"

const program = fileURLToPath(new URL("../python/skyrl_server.py", import.meta.url))

/** The interpreter; without one, fails with how to get it. */
export const interpreter = (): string => {
  const { ATROPOS_SKYRL_PYTHON: python } = process.env
  if (python !== undefined && python !== "") return python
  throw new Error(
    "set ATROPOS_SKYRL_PYTHON to an interpreter that has SkyRL with its server and the engine for the CPU, in an " +
      'environment of its own: python3.12 -m venv skyrl && skyrl/bin/pip install "skyrl[tinker,jax]==0.4.0" aiohttp; then ' +
      "ATROPOS_SKYRL_PYTHON=skyrl/bin/python"
  )
}

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  if (address === null || typeof address === "string") throw new Error("no port of this machine is free")
  return address.port
}

export interface SkyRL {
  readonly url: string
  readonly stop: () => Promise<void>
}

/** JAX and its libraries take up to a minute to start on a busy machine. */
const secondsToStart = 300

/** Serves the model of a folder; its output goes to another folder. */
export const serve = async (python: string, model: string, folder: string): Promise<SkyRL> => {
  const port = await freePort()
  const flags: ReadonlyArray<readonly [string, string]> = [
    ["port", String(port)],
    ["base-model", model],
    ["backend", "jax"],
    // Six adapters are more than a trainer uses; each takes memory even if unused.
    ["backend-config", JSON.stringify({ max_lora_adapters: 6, max_lora_rank: 8 })],
    ["checkpoints-base", `${folder}/checkpoints`],
    ["database-url", `sqlite:///${folder}/tinker.db`]
  ]
  const running = start({
    name: "SkyRL",
    command: python,
    args: [program, ...flags.flatMap(([name, value]) => [`--${name}`, value])],
    cwd: folder,
    env: { JAX_PLATFORMS: "cpu", HF_HUB_OFFLINE: "1", PYTHONUNBUFFERED: "1" }
  })
  const url = `http://127.0.0.1:${port}`
  for (let second = 0; second < secondsToStart; second++) {
    const isUp = await fetch(`${url}/api/v1/get_server_capabilities`).then(
      ({ ok }) => ok,
      () => false
    )
    if (isUp) return { url, stop: running.stop }
    if (await Promise.race([running.exited.then(() => true), sleep(1000, false)])) break
  }
  await running.stop()
  throw new Error(`SkyRL does not answer at ${url}:\n${running.output().slice(-4000)}`)
}
