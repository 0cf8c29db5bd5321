/**
 * Trainable parameters: one flat vector of floats, and where in it each tensor lies.
 *
 * Tensors have the names and layouts of Hugging Face and PEFT (without `base_model.model.`):
 * `model.layers.0.self_attn.q_proj.weight` [out, in], `….lora_A.weight` [r, in], `….lora_B.weight` [out, r]; saving
 * needs no rearranging.
 */
export interface Slot {
  readonly name: string
  readonly shape: ReadonlyArray<number>
  /** First element in the vector. */
  readonly offset: number
  readonly size: number
}

export interface Layout {
  readonly slots: ReadonlyArray<Slot>
  /** Elements of the vector. */
  readonly size: number
}

/** One tensor after the other. */
export const layout = (
  tensors: ReadonlyArray<{ readonly name: string; readonly shape: ReadonlyArray<number> }>
): Layout => {
  let offset = 0
  const slots = tensors.map(({ name, shape }): Slot => {
    const size = shape.reduce((product, dim) => product * dim, 1)
    const slot = { name, shape, offset, size }
    offset += size
    return slot
  })
  return { slots, size: offset }
}

/** The part of the vector that is a tensor's, not copied. */
export const view = (parameters: Float32Array, { offset, size }: Slot): Float32Array =>
  parameters.subarray(offset, offset + size)
