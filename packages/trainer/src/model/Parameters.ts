/**
 * Trainable parameters: one flat vector of floats, and each tensor's place in it. Names and layouts are those of
 * Hugging Face and PEFT (without `base_model.model.`): `model.layers.0.self_attn.q_proj.weight` [out, in],
 * `….lora_A.weight` [r, in], `….lora_B.weight` [out, r].
 */
export interface Slot {
  readonly name: string
  readonly shape: ReadonlyArray<number>
  readonly offset: number
  readonly size: number
}

export interface Layout {
  readonly slots: ReadonlyArray<Slot>
  readonly size: number
}

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

/** A tensor's part of the vector, not copied. */
export const view = (parameters: Float32Array, { offset, size }: Slot): Float32Array =>
  parameters.subarray(offset, offset + size)
