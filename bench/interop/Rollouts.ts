/**
 * Runs our service, the original's data loop, and environments of ours and of the original, in separate processes.
 *
 * The environments are GSM8K: the original's gsm8k_server.py, unmodified, and ours. Both read the same kind of
 * configuration file and the same rows, and use the same stand-in for vLLM. Everything the trainer received is compared
 * with what they sent.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Servers from "../internal/Servers.ts"
import * as Contents from "./Contents.ts"
import * as Processes from "./Processes.ts"

export interface Scenario {
  readonly environments: ReadonlyArray<"ours" | "the original">
  readonly batches: number
  /** Minimum share of a batch that each environment requests. */
  readonly share?: number
}

const microBatch = 8
const microBatches = 2
const tokenizer = new URL("../../packages/core/test/fixtures/tiny-tokenizer", import.meta.url).pathname
const python = (name: string): string => new URL(`./python/${name}`, import.meta.url).pathname

/** The configuration for both kinds of environment, as one file; JSON is YAML. */
const configuration = (service: number, inference: number, own: object): string => {
  const server = {
    base_url: `http://127.0.0.1:${inference}/v1`,
    api_key: "x",
    model_name: "stand-in",
    server_type: "vllm",
    tokenizer_name: tokenizer
  }
  const env = {
    tokenizer_name: tokenizer,
    use_wandb: false,
    rollout_server_url: `http://127.0.0.1:${service}`,
    max_token_length: 2048,
    total_steps: 1_000_000,
    steps_per_eval: 0,
    include_messages: true,
    ...own
  }
  // The original uses a server's address only if the list has two.
  return JSON.stringify({ env, openai: [server, server], slurm: false })
}

export const run = async (
  original: Processes.Original,
  command: ReadonlyArray<string>,
  { batches, environments, share }: Scenario
): Promise<Contents.Received> => {
  const folder = await mkdtemp(join(tmpdir(), "atropos-interop-"))
  const running: Array<Processes.Running> = []
  const started = (what: Processes.Command): Processes.Running => {
    const one = Processes.start(what)
    running.push(one)
    return one
  }
  const service = await Servers.ours(process.env.DATABASE_URL)
  try {
    // On a Postgres server the run of an earlier check still exists, and a second registration would not change it.
    await fetch(`http://127.0.0.1:${service.port}/reset_data`)
    const inference = await Servers.freePort()
    const standIn = started({
      name: "the stand-in for vLLM",
      command: original.python,
      args: [python("inference_server.py"), String(inference), tokenizer, join(original.rows, "train.jsonl"), "0.5"]
    })
    await Processes.untilAnswers(`http://127.0.0.1:${inference}/health`, standIn)

    const sent = await Promise.all(
      environments.map(async (kind, index) => {
        const groups = join(folder, `sent-${index}.jsonl`)
        const file = join(folder, `environment-${index}.yaml`)
        const own = {
          group_size: index % 2 === 0 ? 8 : 4,
          wandb_name: `gsm8k_${index}`,
          data_path_to_save_groups: groups,
          ...(share !== undefined && { min_batch_allocation: share })
        }
        await writeFile(file, configuration(service.port, inference, own))
        const [executable = "", ...rest] = command
        if (kind === "ours") {
          const splits = ["train", "test"].flatMap((split) => [
            `--env.${split}_split`,
            join(original.rows, `${split}.jsonl`)
          ])
          started({
            name: "our environment",
            command: executable,
            args: [
              ...rest,
              "serve",
              "--env",
              "gsm8k",
              "--config",
              file,
              ...splits,
              "--spool",
              join(folder, `spool-${index}`)
            ]
          })
        } else {
          started({
            name: "the original's environment",
            command: original.python,
            args: [
              python("environment.py"),
              original.rows,
              join(original.folder, "environments", "gsm8k_server.py"),
              "serve",
              "--config",
              file,
              "--slurm",
              "false"
            ],
            cwd: folder,
            env: { PYTHONPATH: original.folder, HF_HUB_OFFLINE: "1", WANDB_MODE: "disabled" }
          })
        }
        return groups
      })
    )

    const received = join(folder, "received.jsonl")
    const numbers = [environments.length, batches, microBatch, microBatches].map(String)
    const trainer = started({
      name: "the original's data loop",
      command: original.python,
      args: [python("trainer.py"), `http://127.0.0.1:${service.port}`, ...numbers, received],
      cwd: original.folder,
      env: { PYTHONPATH: original.folder, PYTHONDONTWRITEBYTECODE: "1" }
    })
    const early = Promise.race(
      running
        .filter((one) => one !== trainer)
        .map(async (one) => {
          await one.exited
          throw new Error(`${one.name} ended early:\n${one.output().slice(-4000)}`)
        })
    )
    await Promise.race([Processes.finish(trainer, 300), early])
    // The original's environment writes its file when it ends.
    await Promise.all(running.map((one) => one.stop()))
    return await Contents.compare(sent, received, microBatch * microBatches)
  } catch (error) {
    for (const one of running) console.error(`--- ${one.name}\n${one.output().slice(-3000)}`)
    throw error
  } finally {
    await Promise.all(running.map((one) => one.stop()))
    await service.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
