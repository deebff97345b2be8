//! Floating point operations and bytes of PyTorch's matrix products, convolutions and attention, from their arguments.
//!
//! A multiplication with the addition of its result counts as two operations. Bytes are those of the operands and the
//! result, each once. Causal attention computes half of the scores. Other ops have no costs, nor has attention within a
//! window, or over sequences whose lengths are neither recorded nor follow from the sizes.

/// Costs of one run of an op.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub flops: i64,
    pub bytes: i64,
}

type Shape = Vec<i64>;

/// More sequences in one call are damage.
const MOST_SEQUENCES: usize = 1 << 20;

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
        "aten::linear" => linear,
        "flash_attn::_flash_attn_forward" | "flash_attn::_flash_attn_backward" => flash,
        "flash_attn::_flash_attn_varlen_forward" | "flash_attn::_flash_attn_varlen_backward" => flash_varlen,
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

/// `linear(input[.., k], weight[n, k], bias[n])`.
fn linear(_: &str, parsed: &Parsed) -> Option<Cost> {
    let (input, weight) = (parsed.at_least(0, 1)?, parsed.shape(1, 2)?);
    let (k, rows) = input.split_last()?;
    let (n, m) = (weight[0], times(rows)?);
    if weight[1] != *k {
        return None;
    }
    let result = times(&[m, n])?;
    let bias = if parsed.shape(2, 1) == Some(&weight[..1]) { n } else { 0 };
    let moved = sum(&[times(input), times(weight), Some(bias), Some(result)])?;
    Some(Cost {
        flops: sum(&[times(&[2, result, *k]), Some(if bias > 0 { result } else { 0 })])?,
        bytes: times(&[moved, parsed.width(0)])?,
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
    let causal = causal_at.is_some_and(|at| parsed.is_true(at));
    products_of_scores(scores, [q, k, v], Passes { backward, causal }, parsed.width(first))
}

#[derive(Clone, Copy)]
struct Passes {
    backward: bool,
    causal: bool,
}

/// The products that make and use `scores` of queries, keys and values, the last sizes of which are those of a head.
fn products_of_scores(scores: i64, [q, k, v]: [&[i64]; 3], passes: Passes, width: i64) -> Option<Cost> {
    let (query, rows) = q.split_last()?;
    let value = *v.last()?;
    let both = times(&[2, scores, query.checked_add(value)?])?;
    let all = if passes.backward { times(&[both, 5])? / 2 } else { both };
    let result = times(&[times(rows)?, value]);
    let moved = sum(&[times(q), times(k), times(v), result])?;
    Some(Cost {
        flops: if passes.causal { all / 2 } else { all },
        bytes: times(&[moved, if passes.backward { 2 } else { 1 }, width])?,
    })
}

/// FlashAttention's own ops: `[batch, length, heads, size]`; backward, the gradient comes before queries, and the result,
/// the sums of exponents and three gradients after values.
fn flash(op: &str, parsed: &Parsed) -> Option<Cost> {
    let backward = op.ends_with("backward");
    let first = usize::from(backward);
    let (q, k, v) = (parsed.shape(first, 4)?, parsed.shape(first + 1, 4)?, parsed.shape(first + 2, 4)?);
    let causal = windowless(parsed, if backward { 11 } else { 5 })?;
    let scores = times(&[q[0], q[2], q[1], k[1]])?;
    products_of_scores(scores, [q, k, v], Passes { backward, causal }, parsed.width(first))
}

/// The same of sequences one after another, `[sum of lengths, heads, size]`: `cu_seqlens_q`, `cu_seqlens_k` and the longest
/// lengths of queries and keys follow.
fn flash_varlen(op: &str, parsed: &Parsed) -> Option<Cost> {
    let backward = op.ends_with("backward");
    let (first, ends) = if backward { (1, 9) } else { (0, 3) };
    let (q, k, v) = (parsed.shape(first, 3)?, parsed.shape(first + 1, 3)?, parsed.shape(first + 2, 3)?);
    let causal = windowless(parsed, ends + 6)?;
    let (queries, keys) = (lengths(parsed, ends, q[0])?, lengths(parsed, ends + 1, k[0])?);
    if queries.len() != keys.len() {
        return None;
    }
    let pairs: Vec<Option<i64>> = queries.iter().zip(&keys).map(|(q, k)| q.checked_mul(*k)).collect();
    let scores = times(&[sum(&pairs)?, q[1]])?;
    products_of_scores(scores, [q, k, v], Passes { backward, causal }, parsed.width(first))
}

/// Lengths of sequences: from their ends if these are recorded, else if there is one or all are as long as the longest.
fn lengths(parsed: &Parsed, ends: usize, total: i64) -> Option<Vec<i64>> {
    if let Some(list) = parsed.list(ends).filter(|list| list.len() > 1) {
        let lengths: Vec<Option<i64>> =
            list.windows(2).map(|pair| pair[1].checked_sub(pair[0]).filter(|length| *length >= 0)).collect();
        return if sum(&lengths) == Some(total) { lengths.into_iter().collect() } else { None };
    }
    let count = parsed.shape(ends, 1)?[0].checked_sub(1).filter(|count| *count > 0)?;
    let longest = parsed.values.get(ends + 2).and_then(|text| text.parse::<i64>().ok());
    if count != 1 && longest.and_then(|longest| longest.checked_mul(count)) != Some(total) {
        return None;
    }
    Some(vec![total / count; usize::try_from(count).ok().filter(|count| *count <= MOST_SEQUENCES)?])
}

/// Whether attention is causal, by the argument at `causal`; None if the two after it limit it to a window.
fn windowless(parsed: &Parsed, causal: usize) -> Option<bool> {
    let open = |at: usize| parsed.values.get(at).is_none_or(|value| value.is_empty() || value == "-1");
    (open(causal + 1) && (open(causal + 2) || parsed.is_true(causal))).then(|| parsed.is_true(causal))
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
    fn linear_layers() {
        let (bias, none) = ("[[4,8,16],[32,16],[32]]", "[[4,8,16],[32,16],[]]");
        let moved = 4 * (4 * 8 * 16 + 32 * 16 + 4 * 8 * 32);
        assert_eq!(costs("aten::linear", none, "float", "[]"), Some((2 * 32 * 32 * 16, moved)));
        assert_eq!(costs("aten::linear", bias, "float", "[]"), Some((2 * 32 * 32 * 16 + 32 * 32, moved + 4 * 32)));
        assert_eq!(costs("aten::linear", "[[16],[32,16]]", "float", "[]").unwrap().0, 2 * 32 * 16);
        assert_eq!(costs("aten::linear", "[[4,8],[32,16],[]]", "float", "[]"), None, "sizes that do not fit");
    }

    #[test]
    fn flash_attention() {
        let (forward, backward) = ("flash_attn::_flash_attn_forward", "flash_attn::_flash_attn_backward");
        let (flops, moved) = (4 * 2 * 8 * 128 * 128 * 64, 2 * 4 * 2 * 128 * 8 * 64);
        let shapes = "[[2,128,8,64],[2,128,8,64],[2,128,8,64]]";
        let [open, causal, window] = [["False", "-1", "-1"], ["True", "-1", "0"], ["False", "64", "64"]]
            .map(|[causal, left, right]| format!(r#"["","","","0.","0.125","{causal}","{left}","{right}"]"#));
        assert_eq!(costs(forward, shapes, "c10::Half", &open), Some((flops, moved)));
        assert_eq!(costs(forward, shapes, "c10::Half", &causal), Some((flops / 2, moved)));
        assert_eq!(costs(forward, shapes, "c10::Half", &window), None, "within a window");
        let gradient = "[[2,128,8,64],[2,128,8,64],[2,128,8,64],[2,128,8,64]]";
        let values = r#"["","","","","","","","","","0.","0.125","True","-1","-1"]"#;
        assert_eq!(costs(backward, gradient, "c10::Half", values), Some((flops / 2 * 5 / 2, 2 * moved)));
    }

    #[test]
    fn flash_attention_over_sequences() {
        let forward = "flash_attn::_flash_attn_varlen_forward";
        let of = |total: i64, ends: &str, count: i64, longest: i64, causal: &str| {
            let shapes = format!("[[{total},8,64],[{total},2,64],[{total},2,64],[{count}],[{count}],[],[]]");
            let values =
                format!(r#"["","","","{ends}","{ends}","{longest}","{longest}","0.","0.1","{causal}","-1","-1"]"#);
            costs(forward, &shapes, "c10::BFloat16", &values)
        };
        let moved = 2 * (2 * 300 * 8 * 64 + 2 * 300 * 2 * 64);
        assert_eq!(of(300, "", 4, 100, "False"), Some((4 * 3 * 100 * 100 * 8 * 64, moved)), "of equal lengths");
        assert_eq!(of(300, "", 2, 300, "True"), Some((2 * 300 * 300 * 8 * 64, moved)), "one");
        assert_eq!(of(300, "", 4, 200, "False"), None, "of unknown lengths");
        let known = 4 * (50 * 50 + 50 * 50 + 200 * 200) * 8 * 64;
        assert_eq!(of(300, "[0, 50, 100, 300]", 4, 200, "False"), Some((known, moved)), "of recorded lengths");
        assert_eq!(of(300, "[0, 50, 40, 300]", 4, 200, "False"), None);
        let shapes = "[[300,8,64],[300,8,64],[300,2,64],[300,2,64],[],[],[],[],[],[4],[4],[],[]]";
        let values = r#"["","","","","","","","","","","","100","100","0.","0.1","False","-1","-1"]"#;
        let backward = costs("flash_attn::_flash_attn_varlen_backward", shapes, "c10::BFloat16", values);
        assert_eq!(backward, Some((10 * 3 * 100 * 100 * 8 * 64, 2 * moved)));
    }

    #[test]
    fn others_have_none() {
        assert_eq!(costs("aten::add", "[[2],[2]]", "float", "[]"), None);
        assert_eq!(costs("aten::mm", "nonsense", "float", "[]"), None);
    }
}
