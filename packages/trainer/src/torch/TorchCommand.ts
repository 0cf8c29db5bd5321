/**
 * Command line and environment of the Python side: one process, or one per GPU by `torch.distributed.run`, on one
 * machine or on several that meet at an address (static rendezvous: machine 0 has the trainer, and rank 0).
 */
import { Schema } from "effect"
import { fileURLToPath } from "node:url"

/** Several machines, each with as many processes. */
export interface Machines {
  readonly count: number
  /** `host:port` of machine 0, free and reachable for the others. */
  readonly rendezvous: string
}

export interface Options {
  /** The interpreter. */
  readonly python: string
  /** Processes on this machine, one per GPU. */
  readonly ranks: number
  /** Threads of each process on the CPU. */
  readonly threads: number
  /** Indices of the GPUs. Default: all that are visible. */
  readonly gpus?: string | undefined
  /** Default: this machine only. */
  readonly machines?: Machines | undefined
  /** Added to the environment of this process. */
  readonly variables?: { readonly [name: string]: string }
}

const root = fileURLToPath(new URL("../../python", import.meta.url))

/** `host:port`, also with an IPv6 address in brackets; undefined if it is not one. */
export const addressOf = (rendezvous: string): { readonly host: string; readonly port: number } | undefined => {
  const [, host = "", port = ""] = /^\[?([^\]\s]+?)\]?:(\d{1,5})$/.exec(rendezvous) ?? []
  return host !== "" && Number(port) > 0 && Number(port) < 65_536 ? { host, port: Number(port) } : undefined
}

/** The indices of a list such as `0-3,6`. */
export const gpusOf = (list: string): ReadonlyArray<number> =>
  list.split(",").flatMap((part) => {
    const [first = 0, last = first] = part.split("-").map(Number)
    return Array.from({ length: last - first + 1 }, (_, at) => first + at)
  })

const gpuList = /^\d{1,3}(-\d{1,3})?(,\d{1,3}(-\d{1,3})?)*$/

/** A list of GPUs as text: ranges ascend, and each index is there once. */
export const GpuList = Schema.String.check(
  Schema.makeFilter((list: string) => {
    const isList = gpuList.test(list) && list.split(",").every((part) => gpusOf(part).length > 0)
    return (isList && new Set(gpusOf(list)).size === gpusOf(list).length) || "a list such as 0-3,6, each GPU once"
  })
)

/** `machine`: the index of this one. */
export const words = ({ machines, python, ranks }: Options, machine = 0): ReadonlyArray<string> => {
  const module = ["-m", "atropos_torch"]
  if (machines === undefined || machines.count === 1) {
    // Its own free port: a fixed one would still be in use when the next engine starts.
    return ranks === 1
      ? [python, ...module]
      : [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", String(ranks), ...module]
  }
  const { host, port } = addressOf(machines.rendezvous)!
  const where = `--nnodes ${machines.count} --node-rank ${machine} --master-addr ${host} --master-port ${port}`
  return [python, "-m", "torch.distributed.run", ...where.split(" "), "--nproc-per-node", String(ranks), ...module]
}

export const environment = ({ gpus, threads, variables }: Options): { readonly [name: string]: string } => ({
  ...(gpus !== undefined && { CUDA_VISIBLE_DEVICES: gpus }),
  PYTHONPATH: [root, process.env["PYTHONPATH"]].filter((one) => one).join(":"),
  PYTHONUNBUFFERED: "1",
  OMP_NUM_THREADS: String(threads),
  ATROPOS_TORCH_THREADS: String(threads),
  TOKENIZERS_PARALLELISM: "false",
  HF_HUB_OFFLINE: "1",
  HF_HUB_DISABLE_PROGRESS_BARS: "1",
  TRANSFORMERS_VERBOSITY: "error",
  ...variables
})
