/** Every architecture on WebGPU, where there is one, be it in software: held to transformers and PEFT as on the CPU. */
import { describe } from "@effect/vitest"
import { devices, devicesNote } from "../../exec/TestGraphs.ts"
import * as Architectures from "../../model/Architectures.ts"
import { suite } from "../../model/ArchitectureSuite.ts"

const isThere = devices.some((kind) => kind === "webgpu")

describe.skipIf(!isThere)(`WebGPU beside transformers (${devicesNote})`, () => {
  suite(Architectures.names, "webgpu")
})
