/** Element types of graph values, with ONNX's codes (`TensorProto.DataType`) and sizes. */

export type DType = "float32" | "float64" | "float16" | "bfloat16" | "int64" | "int32" | "bool" | "uint8" | "uint4"

const codes: Record<DType, number> = {
  float32: 1,
  uint8: 2,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  float64: 11,
  bfloat16: 16,
  uint4: 21
}

const sizes: Record<DType, number> = {
  float32: 4,
  int32: 4,
  int64: 8,
  bool: 1,
  float16: 2,
  float64: 8,
  bfloat16: 2,
  uint8: 1,
  uint4: 0.5
}

export const onnxCode = (dtype: DType): number => codes[dtype]

/** Bytes per element; two uint4 share one byte, the first in its lower half. */
export const byteSize = (dtype: DType): number => sizes[dtype]

export const isFloat = (dtype: DType): boolean =>
  dtype === "float32" || dtype === "float64" || dtype === "float16" || dtype === "bfloat16"
