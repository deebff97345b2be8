//! Floating point operations and bytes of PyTorch's matrix products, convolutions and attention, from their arguments.
//!
//! A multiplication with the addition of its result counts as two operations. Bytes are those of the operands and the
//! result, each once. Causal attention computes half of the scores. Other ops have no costs.

/// Costs of one run of an op.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub flops: i64,
    pub bytes: i64,
}

type Shape = Vec<i64>;

/// An op's arguments as the profiler writes them, texts of JSON lists.
pub struct Arguments<'a> {
    /// `[[2, 3], [], ...]`
    pub shapes: &'a str,
    /// `["float", "", ...]`
    pub types: &'a str,
    /// `["", "[1, 1]", "True", ...]`
    pub values: &'a str,
}

struct Parsed {
    shapes: Vec<Shape>,
    types: Vec<String>,
    values: Vec<String>,
}

impl Parsed {
    fn shape(&self, position: usize, rank: usize) -> Option<&[i64]> {
        self.shapes.get(position).map(Vec::as_slice).filter(|shape| shape.len() == rank)
    }

    fn at_least(&self, position: usize, rank: usize) -> Option<&[i64]> {
        self.shapes.get(position).map(Vec::as_slice).filter(|shape| shape.len() >= rank)
    }

    fn width(&self, position: usize) -> i64 {
        match self.types.get(position).map(String::as_str) {
            Some("double" | "long int" | "long" | "c10::complex<float>") => 8,
            Some("c10::BFloat16" | "c10::Half" | "short" | "short int") => 2,
            Some(name) if name.starts_with("c10::Float8") || name.ends_with("char") || name == "bool" => 1,
            _ => 4,
        }
    }

    fn list(&self, position: usize) -> Option<Vec<i64>> {
        let text = self.values.get(position)?.trim_matches(['[', ']']);
        text.split(',').map(|part| part.trim().parse().ok()).collect()
    }

    fn is_true(&self, position: usize) -> bool {
        self.values.get(position).is_some_and(|value| value == "True" || value == "1")
    }
}

/// The costs of one run; None for ops without a formula, or arguments that do not fit it.
pub fn cost(op: &str, arguments: &Arguments) -> Option<Cost> {
    let formula: fn(&str, &Parsed) -> Option<Cost> = match op {
        "aten::mm" | "aten::bmm" | "aten::addmm" | "aten::baddbmm" | "aten::_scaled_mm" | "aten::_addmm_activation" => {
            product
        }
        _ if op.contains("attention_backward")
            || op.contains("attention_forward")
            || op.starts_with("aten::_scaled_dot_product_") =>
        {
            attention
        }
        "aten::convolution_backward" => convolution_backward,
        "aten::_convolution"
        | "aten::convolution"
        | "aten::cudnn_convolution"
        | "aten::miopen_convolution"
        | "aten::mkldnn_convolution"
        | "aten::thnn_conv2d"
        | "aten::_slow_conv2d_forward"
        | "aten::cudnn_convolution_relu" => convolution,
        _ => return None,
    };
    let parsed = Parsed {
        shapes: serde(arguments.shapes)?,
        types: texts(arguments.types)?,
        values: texts(arguments.values).unwrap_or_default(),
    };
    formula(op, &parsed).filter(|cost| cost.flops > 0)
}

fn serde(text: &str) -> Option<Vec<Shape>> {
    let jiter::JsonValue::Array(items) = jiter::JsonValue::parse(text.as_bytes(), false).ok()? else { return None };
    Some(items.iter().map(sizes).collect())
}

/// The sizes of a tensor; lists of tensors and scalars have none.
fn sizes(value: &jiter::JsonValue) -> Shape {
    let jiter::JsonValue::Array(items) = value else { return Shape::new() };
    let whole = |item: &jiter::JsonValue| match item {
        jiter::JsonValue::Int(size) if *size >= 0 => Some(*size),
        _ => None,
    };
    items.iter().map(whole).collect::<Option<Shape>>().unwrap_or_default()
}

fn texts(text: &str) -> Option<Vec<String>> {
    let jiter::JsonValue::Array(items) = jiter::JsonValue::parse(text.as_bytes(), false).ok()? else { return None };
    let plain = |item: &jiter::JsonValue| match item {
        jiter::JsonValue::Str(text) => text.to_string(),
        _ => String::new(),
    };
    Some(items.iter().map(plain).collect())
}

/// The product of sizes and factors; None if it does not fit.
fn times(factors: &[i64]) -> Option<i64> {
    factors.iter().try_fold(1i64, |product, factor| product.checked_mul(*factor))
}

fn sum(terms: &[Option<i64>]) -> Option<i64> {
    terms.iter().try_fold(0i64, |sum, term| sum.checked_add((*term)?))
}

/// `a[.., m, k] b[.., k, n]`, with a third operand that is added in front of them for `add...`.
fn product(op: &str, parsed: &Parsed) -> Option<Cost> {
    let adds = op.contains("add");
    let first = usize::from(adds);
    let rank = if op.contains("bmm") { 3 } else { 2 };
    let (a, b) = (parsed.shape(first, rank)?, parsed.shape(first + 1, rank)?);
    let (batch, m, k, n) = (if rank == 3 { a[0] } else { 1 }, a[rank - 2], a[rank - 1], b[rank - 1]);
    if b[rank - 2] != k || (rank == 3 && b[0] != batch) {
        return None;
    }
    let result = times(&[batch, m, n])?;
    let added = if adds { times(&parsed.shapes[0])? } else { 0 };
    Some(Cost {
        flops: sum(&[times(&[2, batch, m, n, k]), Some(if adds { result } else { 0 })])?,
        bytes: sum(&[
            times(&[batch, m, k, parsed.width(first)]),
            times(&[batch, k, n, parsed.width(first + 1)]),
            times(&[sum(&[Some(result), Some(added)])?, parsed.width(0)]),
        ])?,
    })
}

/// Sizes of the window and of the result of a convolution.
fn convolution(op: &str, parsed: &Parsed) -> Option<Cost> {
    let (input, weight) = (parsed.at_least(0, 3)?, parsed.at_least(1, 3)?);
    let plain = matches!(op, "aten::_convolution" | "aten::convolution");
    // Where the arguments are: convolution(input, weight, bias, stride, padding, dilation, transposed, ...); those of
    // libraries have the padding first, and cuDNN's has no bias.
    let (stride, padding, dilation) = match op {
        _ if plain => (3, 4, 5),
        "aten::cudnn_convolution" => (3, 2, 4),
        "aten::thnn_conv2d" | "aten::_slow_conv2d_forward" => (4, 5, usize::MAX),
        "aten::cudnn_convolution_relu" => (3, 4, 5),
        _ => (4, 3, 5),
    };
    if plain && parsed.is_true(6) {
        // Transposed: each element of the input meets the whole window.
        let flops = times(&[2, times(input)?, times(&weight[1..])?])?;
        return Some(Cost { flops, bytes: 0 });
    }
    let result = result_sizes(input, weight, parsed.list(stride)?, parsed.list(padding)?, parsed.list(dilation))?;
    let flops = times(&[2, times(&result)?, times(&weight[1..])?])?;
    let moved = sum(&[times(input), times(weight), times(&result)])?;
    Some(Cost { flops, bytes: times(&[moved, parsed.width(0)])? })
}

fn result_sizes(
    input: &[i64],
    weight: &[i64],
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Option<Vec<i64>>,
) -> Option<Shape> {
    if input.len() != weight.len() {
        return None;
    }
    let at = |list: &[i64], i: usize, default: i64| list.get(i).or(list.last()).copied().unwrap_or(default);
    let mut result = vec![input[0], weight[0]];
    for i in 0..input.len() - 2 {
        let spread = at(dilation.as_deref().unwrap_or(&[]), i, 1).checked_mul(weight[i + 2].checked_sub(1)?)?;
        let room = input[i + 2].checked_add(at(&padding, i, 0).checked_mul(2)?)?.checked_sub(spread)?.checked_sub(1)?;
        result.push(room.checked_div(at(&stride, i, 1)).filter(|_| room >= 0)? + 1);
    }
    Some(result)
}

/// convolution_backward(gradient, input, weight, ..., output_mask): the gradients of input and weight that are asked for
/// cost what the forward pass does.
fn convolution_backward(_: &str, parsed: &Parsed) -> Option<Cost> {
    let (gradient, input, weight) = (parsed.at_least(0, 3)?, parsed.at_least(1, 3)?, parsed.at_least(2, 3)?);
    let once = if parsed.is_true(7) {
        times(&[2, times(input)?, times(&weight[1..])?])
    } else {
        times(&[2, times(gradient)?, times(&weight[1..])?])
    }?;
    let mask = parsed.values.get(10).map_or("", String::as_str);
    let asked: Vec<bool> =
        mask.trim_matches(['[', ']']).split(',').map(|part| part.trim() == "True" || part.trim() == "1").collect();
    let passes = if asked.len() == 3 { i64::from(asked[0]) + i64::from(asked[1]) } else { 2 };
    let moved = sum(&[times(gradient), times(input), times(weight)])?;
    Some(Cost { flops: times(&[once, passes])?, bytes: times(&[moved, passes, parsed.width(0)])? })
}

/// Attention: two products of queries, keys and values; five in the backward pass, where the gradient comes first.
fn attention(op: &str, parsed: &Parsed) -> Option<Cost> {
    let backward = op.contains("backward");
    let first = usize::from(backward);
    let (q, k, v) = (parsed.shape(first, 4)?, parsed.shape(first + 1, 4)?, parsed.shape(first + 2, 4)?);
    // scaled_dot_product: [batch, heads, length, size]; the kernels behind it: [batch, length, heads, size].
    let heads_first = op.contains("_scaled_dot_product_");
    let (heads, length) = if heads_first { (1, 2) } else { (2, 1) };
    let causal_at = match op {
        "aten::_flash_attention_forward" => Some(8),
        "aten::_efficient_attention_forward" => Some(9),
        "aten::_efficient_attention_backward" => Some(14),
        "aten::_flash_attention_backward"
        | "aten::_scaled_dot_product_flash_attention_backward"
        | "aten::_scaled_dot_product_efficient_attention_backward" => Some(11),
        "aten::_scaled_dot_product_flash_attention" => Some(4),
        "aten::_scaled_dot_product_efficient_attention" | "aten::_scaled_dot_product_cudnn_attention" => Some(6),
        _ => None,
    };
    let scores = times(&[q[0], q[heads], q[length], k[length]])?;
    let both = times(&[2, scores, q[3].checked_add(v[3])?])?;
    let half = if causal_at.is_some_and(|at| parsed.is_true(at)) { 2 } else { 1 };
    let flops = if backward { times(&[both, 5])? / 2 } else { both } / half;
    let result = times(&[q[0], q[heads], q[length], v[3]]);
    let moved = sum(&[times(q), times(k), times(v), result])?;
    let passes = if backward { 2 } else { 1 };
    Some(Cost { flops, bytes: times(&[moved, passes, parsed.width(first)])? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(op: &str, shapes: &str, kind: &str, values: &str) -> Option<(i64, i64)> {
        let types = format!("[{}]", vec![format!("\"{kind}\""); 12].join(","));
        cost(op, &Arguments { shapes, types: &types, values }).map(|cost| (cost.flops, cost.bytes))
    }

    #[test]
    fn products() {
        assert_eq!(costs("aten::mm", "[[2,3],[3,5]]", "float", "[]"), Some((60, 4 * (6 + 15 + 10))));
        assert_eq!(costs("aten::bmm", "[[7,2,3],[7,3,5]]", "c10::Half", "[]"), Some((420, 2 * 7 * (6 + 15 + 10))));
        let bf16 = "c10::BFloat16";
        assert_eq!(costs("aten::addmm", "[[512],[141,512],[512,512],[],[]]", bf16, "[]"), Some((73_996_800, 814_080)));
        assert_eq!(costs("aten::mm", "[[2,3],[4,5]]", "float", "[]"), None, "sizes that do not fit");
        assert_eq!(costs("aten::mm", "[[9000000000,9000000000],[9000000000,2]]", "float", "[]"), None, "too large");
    }

    #[test]
    fn convolutions() {
        // 3x3 over 8x8 with stride 2 and padding 1: 4x4 results.
        let (shapes, flops) = ("[[2,3,8,8],[16,3,3,3],[],[],[],[],[]]", 2 * (2 * 16 * 4 * 4) * 27);
        let moved = 4 * (2 * 3 * 64 + 16 * 27 + 2 * 16 * 16);
        let plain = r#"["","","","[2, 2]","[1, 1]","[1, 1]","False"]"#;
        assert_eq!(costs("aten::convolution", shapes, "float", plain), Some((flops, moved)));
        let library = r#"["","","[1, 1]","[2, 2]","[1, 1]","1"]"#;
        assert_eq!(costs("aten::cudnn_convolution", shapes, "float", library), Some((flops, moved)));
        let mask = r#"["","","","","","","","False","","1","[False, True, False]"]"#;
        let backward = "[[2,16,4,4],[2,3,8,8],[16,3,3,3]]";
        assert_eq!(costs("aten::convolution_backward", backward, "float", mask), Some((flops, moved)));
        assert_eq!(costs("aten::convolution", shapes, "float", "[]"), None, "without the stride");
    }

    #[test]
    fn attention_of_both_layouts() {
        let flops = 4 * 8 * 141 * 141 * 64;
        let moved = 2 * 4 * 8 * 141 * 64;
        let (heads_first, length_first) =
            ("[[1,8,141,64],[1,8,141,64],[1,8,141,64]]", "[[1,141,8,64],[1,141,8,64],[1,141,8,64]]");
        let bf16 = "c10::BFloat16";
        assert_eq!(costs("aten::_scaled_dot_product_flash_attention", heads_first, bf16, "[]"), Some((flops, moved)));
        assert_eq!(costs("aten::_flash_attention_forward", length_first, bf16, "[]"), Some((flops, moved)));
        let causal = r#"["","","","","","","","","True"]"#;
        assert_eq!(costs("aten::_flash_attention_forward", length_first, bf16, causal), Some((flops / 2, moved)));
        let masked = r#"["","","","","","","","","","1"]"#;
        assert_eq!(costs("aten::_efficient_attention_forward", length_first, bf16, masked), Some((flops / 2, moved)));
        let backward = "[[1,141,8,64],[1,141,8,64],[1,141,8,64],[1,141,8,64]]";
        assert_eq!(costs("aten::_flash_attention_backward", backward, bf16, "[]"), Some((flops / 2 * 5, 2 * moved)));
    }

    #[test]
    fn others_have_none() {
        assert_eq!(costs("aten::add", "[[2],[2]]", "float", "[]"), None);
        assert_eq!(costs("aten::mm", "nonsense", "float", "[]"), None);
    }
}
