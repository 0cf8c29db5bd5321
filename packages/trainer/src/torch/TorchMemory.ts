/**
 * Estimates the memory that a process of the PyTorch engine needs, from the model's sizes, before weights are read.
 *
 * Bytes for P parameters, T of them trained, a micro-batch of N positions, L layers, H hidden, I feed-forward, V
 * vocabulary, with e bytes per element (2 in bfloat16, 4 in float32):
 *
 *     weights      e P for a frozen base; 4 P if all are trained, a second time for a reference policy
 *     optimizer    16 T for an adapter (value, gradient, two moments), 12 T more for all weights
 *     activations  e N L (4 I + 10 H), or e N (L H + 4 I + 10 H) if computed again
 *     logits       20 · 256 V (chunks of the head), and 2 e N H of its slopes
 *
 * FSDP divides weights and optimizer by the number of processes, except for the layer that is computed. Attention
 * takes no memory beyond these terms (SDPA). Each process takes about 1.1 GB without a model.
 *
 * Measured on the CPU in float32 (one thread, an adapter of rank 16, 8 sequences in 588 to 640 positions): SmolLM2-135M
 * 2.7 GiB, 1.9 GiB with activations computed again; no GPU has been measured.
 */

/** Of a model of any architecture. */
export interface Sizes {
  readonly parameters: number
  readonly hiddenSize: number
  readonly layers: number
  readonly intermediateSize: number
  readonly vocabSize: number
}

export interface Workload {
  /** Trained parameters; `"all"`: every one. */
  readonly trained: number | "all"
  readonly isHalf: boolean
  readonly recomputes: boolean
  readonly hasReference: boolean
  /** Processes that share the weights: 1 unless they are sharded. */
  readonly shards: number
}

const processBytes = 1.1e9
/** Tokens of which logits exist at a time. */
export const chunk = 256

/** Bytes that exist between steps: weights, gradients and moments. */
export const held = ({ parameters }: Sizes, { hasReference, isHalf, shards, trained }: Workload): number =>
  (trained === "all" ? parameters * (hasReference ? 20 : 16) : parameters * (isHalf ? 2 : 4) + 16 * trained) / shards

/** Bytes that a micro-batch of so many positions adds. */
export const activations = (
  { hiddenSize, intermediateSize, layers, vocabSize }: Omit<Sizes, "parameters">,
  { isHalf, recomputes }: Pick<Workload, "isHalf" | "recomputes">,
  positions: number
): number => {
  const element = isHalf ? 2 : 4
  const layer = 4 * intermediateSize + 10 * hiddenSize
  const stored = recomputes ? layers * hiddenSize + layer : layers * layer
  return element * positions * (stored + 2 * hiddenSize) + 20 * chunk * vocabSize
}

/** The most that a process needs at a time. */
export const peak = (sizes: Sizes, workload: Workload, positions: number): number =>
  processBytes + held(sizes, workload) + activations(sizes, workload, positions)

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`

/**
 * Explains why a model cannot fit, even with the smallest micro-batches; undefined if it may. `memory`: bytes of a
 * device, which all processes share on the CPU.
 */
export const problem = (
  sizes: Sizes,
  workload: Workload,
  { memory, processes }: { readonly memory: number; readonly processes: number }
): string | undefined => {
  const needed = processes * held(sizes, workload)
  if (needed <= memory) return undefined
  const of = workload.trained === "all" ? "weights, gradients and moments" : "weights"
  const instead = [
    ...(workload.trained === "all" ? ["--trains adapter"] : []),
    ...(workload.isHalf ? [] : ["--dtype bfloat16"]),
    "more GPUs with --parallel fsdp"
  ]
  return `${of} take ${gigabytes(needed)}, and the device has ${gigabytes(memory)}: ${instead.join(", ")} or a smaller model would need less`
}
