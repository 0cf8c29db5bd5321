/**
 * Chooses how a training graph is built for a model and micro-batch size: what the backward pass recomputes, in how
 * many chunks logits are computed, and whether frozen weights are prepacked.
 *
 * Selects the fastest variant whose activations fit: nothing recomputed if all take little memory, else activations
 * between matmuls (a few percent slower), else whole blocks (about a quarter slower). Prepacking saves a tenth of the
 * time for a copy of the weights, and has second priority. Uses total, not free, memory: a resumed run must build the
 * same graph.
 *
 * Estimate, bytes for N positions in rows of T, a model of L layers, H hidden, I feed-forward, A heads of D, in
 * float32:
 *
 *     parts     4 N L (H + A D)                   layer inputs and attention outputs
 *     elements  4 N L (2 H + 2 I + 3 A D)         also matmul outputs
 *     nothing   + 4 N L (3 I + 4 H + A T)         also norms, activations, attention weights
 *     always    + 4 N (6 I + 4 H + 4 A D + 3 A T) the current block
 *
 * Rows above 256 positions (on WebGPU those whose scores would be too large) use block attention, which never stores
 * its weights (A T drops out) and needs five arrays for the current block. At 14 heads of 64 (forward and backward pass
 * of one layer, 2 cores), rows of 1,024 and 4,096 positions then take 252 and 475 MB instead of 744 and 8,110, and 66
 * and 72 % of the time; 8 sequences in a row of 2,048 take 16 % of it. For the gated delta rule the estimate was not
 * measured.
 *
 * Measured (4 x 256): 9M parameters 495, 577, 731 MB of the whole process, the estimate's differences 71 and 147; 100M
 * parameters 1054, 1353, 1896 MB, differences 340 and 642; with prepacked weights 390 MB more.
 */
import { availableParallelism, totalmem } from "node:os"
import type { DeviceKind } from "../exec/Executor.ts"
import type { Remat } from "../model/Decoder.ts"
import type { Shape } from "../model/ModelConfig.ts"
import type { AttentionKind } from "../model/TrainableModel.ts"
import * as BlockAttention from "../model/BlockAttention.ts"
import * as PackedDelta from "../model/PackedDelta.ts"
import * as Tensors from "../model/Tensors.ts"

export interface Workload {
  readonly shape: Shape
  /** Max positions of a micro-batch, N. */
  readonly tokens: number
  /** Longest row, T. */
  readonly rowLength: number
  /** Frozen weights in 8 or 4 bits; absent: all float32. */
  readonly rounded?: {
    readonly bytes: number
    /** Elements of the largest matrix, which is dequantized for its matmul. */
    readonly largest: number
  }
}

export interface Plan {
  readonly remat: false | Remat
  readonly attention: AttentionKind
  /** Chunks of feed-forward blocks if whole blocks are recomputed; a power of two, like `chunks`. */
  readonly feedForwardChunks: number
  /** A power of two. */
  readonly chunks: number
  /** Positions of a chunk; undefined if chunks do not run in a loop. */
  readonly headRows: number | undefined
  /** Copy frozen weights into the memory layout that matmuls read. */
  readonly prepack: boolean
}

/**
 * I summed over all layers and experts, and the largest I that a token passes in one layer. Activations inside experts
 * are not stored; the outputs of all experts that a token chose are stored side by side.
 */
const feedForward = ({ hiddenSize, intermediateSize, layerTraits = [], layers, mixture }: Shape) => {
  const mixtures = mixture === undefined ? 0 : layerTraits.filter(({ isMixture }) => isMixture).length
  const ofExperts = mixture === undefined ? 0 : mixture.perToken * Math.max(mixture.intermediateSize, hiddenSize / 2)
  return {
    stored:
      (layers - mixtures) * intermediateSize + mixtures * (mixture?.experts ?? 0) * (mixture?.intermediateSize ?? 0),
    passed: mixtures === layers ? ofExperts : Math.max(intermediateSize, ofExperts)
  }
}

/** Per-token sizes of layers with the gated delta rule: linear projections, their weights, and chunk matrices. */
const recurrence = ({ delta, layerTraits = [] }: Shape) => {
  const layers = layerTraits.filter(({ isDelta }) => isDelta).length
  if (delta === undefined || layers === 0) return { layers: 0, linear: 0, weights: 0, chunks: 0 }
  const { keyDim, valueDim, valueHeads } = delta
  const { mixed, values } = Tensors.deltaSizes({ delta })
  const chunk = PackedDelta.chunk
  return {
    layers,
    linear: mixed + values + 2 * valueHeads,
    weights: mixed + 2 * values + 2 * valueHeads,
    // Several copies of queries, keys and values, chunk matrices once per solver iteration, and chunk states.
    chunks: valueHeads * (6 * (keyDim + valueDim) + 4 * Math.log2(chunk) * chunk + (2 * keyDim * valueDim) / chunk)
  }
}

export const weightBytes = (shape: Shape) => {
  const { hasTiedHead, headDim, heads, hiddenSize, kvHeads, layers, vocabSize } = shape
  const { layers: deltas, weights } = recurrence(shape)
  const gates = shape.hasOutputGate === true ? heads : 0
  const attention = (layers - deltas) * headDim * (2 * (heads + kvHeads) + gates) + deltas * weights
  const blocks = attention + 3 * feedForward(shape).stored
  return 4 * hiddenSize * (blocks + vocabSize * (hasTiedHead ? 1 : 2))
}

export const heldBytes = ({ rounded, shape }: Pick<Workload, "rounded" | "shape">): number =>
  rounded === undefined ? weightBytes(shape) : rounded.bytes + 4 * rounded.largest

const powerOfTwo = (x: number, round: (x: number) => number): number => 2 ** round(Math.log2(Math.max(1, x)))

/** More rows than this do not make matmuls faster. */
const chunkTokens = 8192

const feedForwardChunks = (tokens: number): number => powerOfTwo(tokens / chunkTokens, Math.ceil)

/** Peak of simultaneously live activations, bytes. */
export const activationBytes = (
  { rowLength, shape, tokens }: Workload,
  remat: Plan["remat"],
  attention: AttentionKind
): number => {
  const { headDim, heads, hiddenSize, layers } = shape
  const intermediateSize = feedForward(shape).passed
  const width = heads * headDim
  const isInBlocks = attention === "blocks"
  const scores = isInBlocks ? 0 : heads * rowLength
  const blocks = isInBlocks ? 5 * BlockAttention.scoresOf(tokens * heads, rowLength) : 0
  const own = recurrence(shape)
  // Assumes the larger of the two layer types everywhere.
  const elements = 2 * intermediateSize + Math.max(3 * width, own.linear)
  const others = 3 * intermediateSize + 4 * hiddenSize + Math.max(scores, own.chunks)
  // A delta rule stores no result, but the input of the following feed-forward block.
  const layer = hiddenSize + Math.max(width, own.layers > 0 ? hiddenSize : 0)
  const kept = remat === "parts" ? layer : 2 * hiddenSize + elements + (remat === false ? others : 0)
  const inside = (6 * intermediateSize) / (remat === "parts" ? feedForwardChunks(tokens) : 1)
  const atHand = inside + 4 * hiddenSize + 4 * width + Math.max(3 * scores, 2 * own.chunks)
  return 4 * (tokens * (layers * kept + atHand) + blocks)
}

/** Rows up to this length are no slower without blocks. */
const maxWholeRow = 256

/** Rows that hold a prompt once for several sequences may be longer than these, up to this length. */
const sharedRow = 1024

/**
 * Longest row of sequences of up to `maxLength` positions: on the CPU long enough to hold a prompt once for several
 * sequences, on GPUs for both of a pair.
 */
export const rowLengthFor = (maxLength: number, device: DeviceKind, needsPairs: boolean): number => {
  if (device !== "cpu") return needsPairs ? 2 * maxLength : maxLength
  return Math.max(maxLength, Math.min(sharedRow, Math.max(maxWholeRow, 2 * maxLength)))
}

/** Below this, saving memory is not worth any time. */
const littleBytes = 128 * 2 ** 20

/** Weights beyond this share of memory are not prepacked: the copy is large, and large matmuls gain little. */
const rearranged = 1 / 64

/** Max logits of a chunk if chunks of `minChunk` positions allow it; about five arrays of that size are live. */
const chunkBytes = 16 * 2 ** 20
const minChunk = 128
/** Rows are padded to multiples of the number of chunks. */
const maxChunks = 64

export const chunks = ({ shape: { vocabSize }, tokens }: Workload): number =>
  Math.min(
    maxChunks,
    powerOfTwo(tokens / minChunk, Math.floor),
    powerOfTwo((4 * tokens * vocabSize) / chunkBytes, Math.ceil)
  )

const headOf = (workload: Workload, device: DeviceKind): Pick<Plan, "chunks" | "headRows"> => {
  const count = chunks(workload)
  // Only on the CPU: other devices would get the loop's sizes from the CPU, chunk by chunk.
  return { chunks: count, headRows: device === "cpu" && count > 1 ? Math.ceil(workload.tokens / count) : undefined }
}

/** Drivers do not report GPU memory: assume the smallest common size. */
const gpuBytes = 8 * 2 ** 30

/** Physical memory, or the container's limit. */
export const memoryBytes = (device: DeviceKind): number => {
  if (device !== "cpu") return gpuBytes
  const allowed = process.constrainedMemory()
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem()
}

/**
 * Max size of a WebGPU binding guaranteed on every device. Beyond it ONNX Runtime (1.30) silently computes softmax and
 * selections wrong on devices with that limit.
 */
const bindingBytes = 2 ** 27

/**
 * Uses blocks for long rows on the CPU, and on WebGPU if scores of whole rows could exceed the binding limit. The loop
 * over blocks runs on the CPU there too, its body on the device.
 */
const attentionOf = (
  { rowLength, shape, tokens }: Pick<Workload, "rowLength" | "shape" | "tokens">,
  device: DeviceKind
): AttentionKind => {
  const isLong =
    device === "cpu"
      ? rowLength > maxWholeRow
      : device === "webgpu" && 4 * tokens * shape.heads * rowLength > bindingBytes
  return isLong ? "blocks" : "rows"
}

/** More positions per micro-batch are no faster. */
const maxTokens = 8192

/**
 * Per core of a CPU. More activations than these leave its caches, so that a larger micro-batch is slower; fewer
 * positions make matmuls slower, and the weights of a quantized model are dequantized for each micro-batch.
 */
const coreBytes = 2 ** 27
const coreTokens = { whole: 256, rounded: 1024 }

const cpuTokens = (workload: Omit<Workload, "tokens">, cores: number): number => {
  const min = cores * (workload.rounded === undefined ? coreTokens.whole : coreTokens.rounded)
  const whole = { ...workload, tokens: maxTokens }
  const bytes = activationBytes(whole, "elements", attentionOf(whole, "cpu")) / maxTokens
  return Math.min(maxTokens, min * Math.max(1, Math.floor((cores * coreBytes) / bytes / min)))
}

/**
 * Default positions of a micro-batch; a longer row is alone. On GPUs 8192, or fewer (at least 1024) until activations
 * fit into half of the memory next to the weights. On CPUs, where more are slower, what `cores` compute best.
 */
export const tokensFor = (
  workload: Omit<Workload, "tokens">,
  device: DeviceKind,
  memory = memoryBytes(device),
  cores = availableParallelism()
): number => {
  const most = device === "cpu" ? cpuTokens(workload, cores) : maxTokens
  const min = Math.min(1024, most)
  const fits = (tokens: number) =>
    heldBytes(workload) +
      activationBytes({ ...workload, tokens }, "parts", attentionOf({ ...workload, tokens }, device)) <=
    memory / 2
  let tokens = most
  while (tokens > min && !fits(tokens)) tokens = Math.max(min, Math.floor(tokens / 2))
  return tokens
}

/** Attention is chosen for rows up to this length, or the model's. */
const longRow = 8192

/** Of sequences of any length, in micro-batches of `budget` positions (null: what the device computes best). */
export const ofAnyLength = (
  shape: Shape & { readonly maxPositions: number },
  budget: number | null,
  device: DeviceKind,
  memory = memoryBytes(device)
): Workload => {
  const workload = { shape, rowLength: Math.min(longRow, shape.maxPositions) }
  return { ...workload, tokens: budget ?? tokensFor(workload, device, memory) }
}

const logitBytes = ({ shape, tokens }: Pick<Workload, "shape" | "tokens">, count: number): number =>
  (5 * 4 * tokens * shape.vocabSize) / count

/** Peak memory of a training graph and its optimizer; `trained` is the number of trained parameters. */
export const peakBytes = (workload: Workload, plan: Plan, trained: number): number => {
  const logits = logitBytes(workload, plan.chunks)
  const held = heldBytes(workload)
  const activations = activationBytes(workload, plan.remat, plan.attention)
  return held + (plan.prepack ? held : 0) + activations + logits + optimizerBytes * trained
}

/** Bytes per trained parameter: value, gradient, two moments, and a copy in transfer to a graph or sampler. */
const optimizerBytes = 20

/**
 * Returns the fastest plan that takes at most half of the memory, or the smallest one; `fixed` states what is
 * recomputed. Only CPU matmuls read prepacked weights.
 */
export const choose = (
  workload: Workload,
  device: DeviceKind,
  memory = memoryBytes(device),
  fixed?: Plan["remat"]
): Plan => {
  const held = heldBytes(workload)
  const left = memory / 2 - held - logitBytes(workload, chunks(workload))
  const attention = attentionOf(workload, device)
  const takes = (remat: Plan["remat"]) => activationBytes(workload, remat, attention)
  const fastest = () =>
    takes(false) <= Math.min(littleBytes, left) ? false : takes("elements") <= left ? ("elements" as const) : "parts"
  const remat = fixed ?? fastest()
  // Quantized matrices are not constants of a matmul: they are dequantized each time.
  const isSmall = held <= Math.min(left - takes(remat), rearranged * memory)
  const prepack = device === "cpu" && workload.rounded === undefined && isSmall
  return {
    remat,
    attention,
    feedForwardChunks: feedForwardChunks(workload.tokens),
    ...headOf(workload, device),
    prepack
  }
}
