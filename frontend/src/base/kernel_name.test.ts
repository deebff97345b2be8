import { describe, expect, it } from "vitest";
import { partsOfCollective, partsOfOp, shortKernelNames, shortNamesWithin } from "./kernel_name";

const shown = (...names: string[]): string[] => names.map((name) => shortKernelNames(names).get(name) ?? "");
const elementwise = (inner: string): string =>
  `void at::native::vectorized_elementwise_kernel<4, ${inner}, std::array<char*, 2ul> >(int, ${inner}, std::array<char*, 2ul>)`;
const eigen = (op: string, type: string): string =>
  `void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::TensorMap<Eigen::Tensor<${type}, 1, 1, int>, ` +
  `16, Eigen::MakePointer>, Eigen::TensorCwiseBinaryOp<Eigen::internal::${op}<${type} const, ${type} const>, ` +
  `Eigen::TensorMap<Eigen::Tensor<${type} const, 1, 1, int>, 16, Eigen::MakePointer> const> const> const, Eigen::GpuDevice>, int>(` +
  `Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::TensorMap<Eigen::Tensor<${type}, 1, 1, int> > > const, Eigen::GpuDevice>, int)`;

describe("names of kernels", () => {
  it("are the function alone where nothing else has its name", () => {
    expect(
      shown(
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float, float const*)",
        "void permute_pooled_embs_kernel<float>(float const*, long const*, long)",
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "volta_sgemm_128x32_nt",
        "loop_add_fusion.3",
        "wrapped_broadcast.kd",
      ),
    ).toEqual([
      "vectorized_layer_norm_kernel",
      "permute_pooled_embs_kernel",
      "ncclKernel_AllReduce_RING_LL_Sum_float",
      "volta_sgemm_128x32_nt",
      "loop_add_fusion.3",
      "wrapped_broadcast",
    ]);
  });

  it("have the first named argument where the function is one for everything", () => {
    expect(
      shown(
        "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2>" +
          "(cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2::Params)",
        "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false>, false, true>(pytorch_flash::Flash_fwd_params)",
      ),
    ).toEqual(["Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2>", "flash_fwd_kernel<Flash_fwd_kernel_traits>"]);
  });

  it("show the arguments that differ", () => {
    expect(shown(eigen("scalar_sum_op", "float"), eigen("scalar_product_op", "float"), eigen("scalar_product_op", "Eigen::half"))).toEqual([
      "EigenMetaKernel<float, scalar_sum_op>",
      "EigenMetaKernel<float, scalar_product_op>",
      "EigenMetaKernel<half, scalar_product_op>",
    ]);
    const cat = (...args: (string | number)[]): string =>
      `void at::native::(anonymous namespace)::CatArrayBatchedCopy<${args.join(", ")}>(float*, unsigned int, int)`;
    expect(
      shown(cat("float", "unsigned int", 2, 128, 1), cat("float", "unsigned int", 2, 64, 64), cat("float", "unsigned int", 1, 128, 1)),
    ).toEqual(["CatArrayBatchedCopy<2, 128, 1>", "CatArrayBatchedCopy<2, 64, 64>", "CatArrayBatchedCopy<1, 128, 1>"]);
    expect(
      shown(
        elementwise("at::native::CUDAFunctor_add<c10::BFloat16>"),
        elementwise(
          "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::{lambda(c10::BFloat16)#1}",
        ),
        elementwise("at::native::AUnaryFunctor<long, long, bool, at::native::(anonymous namespace)::CompareEqFunctor<long> >"),
      ),
    ).toEqual([
      "vectorized_elementwise_kernel<CUDAFunctor_add, BFloat16>",
      "vectorized_elementwise_kernel<GeluCUDAKernelImpl, #2, BFloat16, #1>",
      "vectorized_elementwise_kernel<AUnaryFunctor, long, bool, CompareEqFunctor>",
    ]);
  });

  it("show the parts that differ of long words", () => {
    const gemm = (name: string): string => `void cutlass::Kernel2<cutlass_80_${name}>(cutlass_80_${name}::Params)`;
    expect(
      shown(
        gemm("tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2"),
        gemm("tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8"),
        gemm("wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8"),
      ),
    ).toEqual([
      "Kernel2<s16816gemm, 256x128, 64x3, align2>",
      "Kernel2<s16816gemm, relu, 64x64, 64x6>",
      "Kernel2<wmma, s161616gemm, 32x32, 128x2>",
    ]);
  });

  it("skip what stands before a function, such as a computed return type", () => {
    expect(
      shown(
        "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float, false, 7, cublasGemvParams<float> >(cublasGemvParams<float>)",
        "decltype(auto) run_kernel<2>(int)",
      ),
    ).toEqual(["kernel<cublasGemvParams>", "run_kernel"]);
  });

  it("cut long names without arguments at an underscore, unless that makes two of them equal", () => {
    const [one, two] = [
      "Cijk_Ailk_Bljk_BBS_BH_MT256x224x64_MI16x16x16x1_SN_1LDSB1_WGM1.kd",
      "Cijk_Ailk_Bljk_BBS_BH_MT128x32x64_MI16x16x16x1_SN_1LDSB0_WGM8.kd",
    ];
    expect(shown(one, two)).toEqual([
      "Cijk_Ailk_Bljk_BBS_BH_MT256x224x64_MI16x16x16x1…",
      "Cijk_Ailk_Bljk_BBS_BH_MT128x32x64_MI16x16x16x1…",
    ]);
    const same = one.replace("WGM1", "WGM64");
    expect(shown(one, same)).toEqual([one, same].map((name) => name.replace(".kd", "")));
  });

  it("are never equal for different kernels", () => {
    const names = [1, 2].flatMap((x) => ["a", "b"].flatMap((n) => [`void ${n}::f<${x}>(int)`, `void ${n}::f<${x}>(long)`]));
    expect(new Set(shown(...names)).size).toBe(names.length);
    expect(shown("", "<>", "((", "f<")).toHaveLength(4);
  });
});

describe("names that a kernel's is part of", () => {
  const within = (...names: Parameters<typeof shortNamesWithin>[0]): string[] => [...shortNamesWithin(names).values()];

  it("keep the path of the op", () => {
    const kernel = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_gemm>(cutlass_80_tensorop_bf16_gemm::Params)";
    expect(
      within(
        partsOfOp(`Linear_0/aten::mm/${kernel}`, "aten::mm"),
        partsOfOp(`aten::mm/${kernel}`, "aten::mm"),
        partsOfOp("fusion.12", "loop fusion"),
        partsOfOp("a/fusion/x", ""),
      ),
    ).toEqual([
      "Linear_0/aten::mm/Kernel2<cutlass_80_tensorop_bf16_gemm>",
      "aten::mm/Kernel2<cutlass_80_tensorop_bf16_gemm>",
      "fusion.12",
      "a/fusion/x",
    ]);
  });

  it("keep what a collective sends", () => {
    const name = "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)";
    expect(within(partsOfCollective(`${name} [all-gather, 16 signed char]`), partsOfCollective("all-reduce.1"))).toEqual([
      "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t [all-gather, 16 signed char]",
      "all-reduce.1",
    ]);
  });
});
