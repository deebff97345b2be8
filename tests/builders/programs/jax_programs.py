"""Small JAX functions and HLO programs with fusions in fusions, for tests against XLA itself.

A function is Python text, evaluated where `jax`, `jnp` and `lax` are known, and the shapes of its arguments: sizes and
element type.
"""

from __future__ import annotations

from typing import Any

PROGRAMS: dict[str, tuple[str, list[list[Any]]]] = {
    "softmax": ("jax.nn.softmax", [[256, 512, "float32"]]),
    "normalization": (
        "lambda x, g: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g",
        [[128, 1024, "float32"], [1024, "float32"]],
    ),
    "gradient of a layer": (
        "lambda x, w, v: jax.grad(lambda w: (jnp.tanh(x @ w) @ v).sum())(w)",
        [[64, 256, "float32"], [256, 512, "float32"], [512, 128, "float32"]],
    ),
    "attention": (
        "lambda q, k, v: jax.nn.softmax(jnp.einsum('bqd,bkd->bqk', q, k) / 8.0) @ v",
        [[4, 64, 64, "float32"]] * 3,
    ),
    "scan": (
        "lambda x, w: lax.scan(lambda c, _: (jnp.tanh(c @ w) + 1.0, None), x, None, length=12)[0]",
        [[64, 64, "float32"], [64, 64, "float32"]],
    ),
    "loop": (
        "lambda x: lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, jnp.tanh(c[1] @ c[1])), (0, x))[1]",
        [[64, 64, "float32"]],
    ),
    "condition": ("lambda i, x: lax.cond(i > 0, lambda x: jnp.exp(x @ x), lambda x: x + 1.0, x)",
                  [["int32"], [64, 64, "float32"]]),
    "pooling": (
        "lambda x: lax.reduce_window(jax.nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')",
        [[4, 32, 32, 16, "float32"]],
    ),
    "running sum": ("lambda x: jnp.cumsum(jnp.exp(x), axis=1)", [[64, 1024, "float32"]]),
    "sort": ("lambda x: jnp.sort(x)[:, :10] * 2", [[64, 1024, "float32"]]),
    "gather": ("lambda x, i: jnp.sin(x[i]) + 1", [[1000, 64, "float32"], [50, "int32"]]),
    "scatter": ("lambda x, i, u: x.at[i].add(jnp.cos(u))", [[1000, 64, "float32"], [50, "int32"], [50, 64, "float32"]]),
    "update": ("lambda x, i, u: lax.dynamic_update_slice(x, jnp.exp(u), (i, 0)) * 1.0",
               [[1000, 64, "float32"], ["int32"], [8, 64, "float32"]]),
    "random numbers": ("lambda k: jax.random.normal(jax.random.wrap_key_data(k), (64, 64))", [[2, "uint32"]]),
    "concatenation": ("lambda x, y: jnp.concatenate([jnp.exp(x), y * 2.0], 1) * 3.0",
                      [[32, 64, "float32"], [32, 32, "float32"]]),
    "neighbours": ("lambda x: sum(jnp.exp(x)[i:i+60, j:j+60] for i in range(4) for j in range(4))",
                   [[64, 64, "float32"]]),
    "neighbours of neighbours": (
        "lambda x: (lambda y: sum(jnp.sin(y)[i:i+50] for i in range(8)))(sum(jnp.exp(x)[i:i+60] for i in range(5)))",
        [[64, "float32"]],
    ),
    "several results": (
        "lambda p, g, m, v: (p - 0.1 * (0.9 * m + g) / (jnp.sqrt(v + g * g) + 1e-8), 0.9 * m + g, v + g * g)",
        [[512, 512, "float32"]] * 4,
    ),
    "narrow types": ("lambda x, w: jax.nn.relu(x @ w).astype(jnp.float32).sum()",
                     [[64, 256, "bfloat16"], [256, 64, "bfloat16"]]),
    "fourier": ("lambda x: jnp.abs(jnp.fft.fft(x))", [[16, 256, "float32"]]),
}  # fmt: skip
"""As they are written and as they run: as many operations and bytes on a CPU as XLA counts."""

_INNER = """
inner { p = f32[64,64]{1,0} parameter(0)
 e = f32[64,64]{1,0} exponential(p)
 ROOT m = f32[64,64]{1,0} multiply(e, e) }"""
_ENTRY = """
ENTRY main { x = f32[64,64]{1,0} parameter(0)
 ROOT o = SHAPE fusion(x), kind=kLoop, calls=outer }"""
NESTED = {
    "reused": f"""HloModule reused
{_INNER}
outer {{ q = f32[64,64]{{1,0}} parameter(0)
 f = f32[64,64]{{1,0}} fusion(q), kind=kLoop, calls=inner
 a = f32[32,64]{{1,0}} slice(f), slice={{[0:32], [0:64]}}
 b = f32[32,64]{{1,0}} slice(f), slice={{[8:40], [0:64]}}
 ROOT r = f32[32,64]{{1,0}} add(a, b) }}
{_ENTRY.replace("SHAPE", "f32[32,64]{1,0}")}""",
    "reduced": f"""HloModule reduced
add {{ a = f32[] parameter(0)
 b = f32[] parameter(1)
 ROOT s = f32[] add(a, b) }}
inner {{ p = f32[64,64]{{1,0}} parameter(0)
 z = f32[] constant(0)
 ROOT r = f32[64]{{0}} reduce(p, z), dimensions={{1}}, to_apply=add }}
outer {{ q = f32[64,64]{{1,0}} parameter(0)
 f = f32[64]{{0}} fusion(q), kind=kLoop, calls=inner
 w = f32[64,64]{{1,0}} broadcast(f), dimensions={{0}}
 d = f32[64,64]{{1,0}} divide(q, w)
 t = f32[64,64]{{1,0}} tanh(d)
 ROOT r2 = f32[64,64]{{1,0}} multiply(t, d) }}
{_ENTRY.replace("SHAPE", "f32[64,64]{1,0}")}""",
    "three levels": f"""HloModule levels
{_INNER}
middle {{ p = f32[64,64]{{1,0}} parameter(0)
 f = f32[64,64]{{1,0}} fusion(p), kind=kLoop, calls=inner
 s = f32[8,64]{{1,0}} slice(f), slice={{[0:8], [0:64]}}
 t = f32[8,64]{{1,0}} slice(p), slice={{[8:16], [0:64]}}
 ROOT a = f32[8,64]{{1,0}} add(s, t) }}
outer {{ q = f32[64,64]{{1,0}} parameter(0)
 f = f32[8,64]{{1,0}} fusion(q), kind=kLoop, calls=middle
 w = f32[4,8,64]{{2,1,0}} broadcast(f), dimensions={{1,2}}
 ROOT n = f32[4,8,64]{{2,1,0}} negate(w) }}
{_ENTRY.replace("SHAPE", "f32[4,8,64]{2,1,0}")}""",
    "parts": f"""HloModule parts
pair {{ p = f32[64,64]{{1,0}} parameter(0)
 q = f32[64,64]{{1,0}} parameter(1)
 e = f32[64,64]{{1,0}} exponential(p)
 s = f32[64,64]{{1,0}} sine(q)
 ROOT t = (f32[64,64]{{1,0}}, f32[64,64]{{1,0}}) tuple(e, s) }}
outer {{ q = f32[64,64]{{1,0}} parameter(0)
 k = f32[64,64]{{1,0}} negate(q)
 f = (f32[64,64]{{1,0}}, f32[64,64]{{1,0}}) fusion(q, k), kind=kLoop, calls=pair
 a = f32[64,64]{{1,0}} get-tuple-element(f), index=0
 b = f32[64,64]{{1,0}} get-tuple-element(f), index=1
 ROOT r = f32[64,64]{{1,0}} add(a, b) }}
{_ENTRY.replace("SHAPE", "f32[64,64]{1,0}")}""",
    "a product inside": f"""HloModule product
{_INNER}
square {{ p = f32[64,64]{{1,0}} parameter(0)
 q = f32[64,64]{{1,0}} parameter(1)
 ROOT d = f32[64,64]{{1,0}} dot(p, q), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}
outer {{ q = f32[64,64]{{1,0}} parameter(0)
 f = f32[64,64]{{1,0}} fusion(q), kind=kLoop, calls=inner
 g = f32[64,64]{{1,0}} fusion(f, q), kind=kOutput, calls=square
 ROOT r = f32[64,64]{{1,0}} add(g, f) }}
{_ENTRY.replace("SHAPE", "f32[64,64]{1,0}")}""",
}
"""Fusions in fusions, whose values several instructions use."""
