(* Theorem 18: survey weights, and the total that is released of them. W is the largest weight of a row; u are the weights
   that a person's m rows enter sums with, v their own: m u <= v <= W. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From Graphveil Require Import Vectors.
Import Order.Theory GRing.Theory Num.Theory.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Weights.
Variables (R : realDomainType) (W : R).
Implicit Types S T : finType.

(* The two coordinates that a person adds to the total: W sum u, and 3 sum u (W - v). *)
Definition total T (u v : T -> R) (second : bool) : R :=
  if second then 3%:R * \sum_t u t * (W - v t) else W * \sum_t u t.

Definition weighs T (u v : T -> R) := forall t, [/\ 0 <= u t, #|T|%:R * u t <= v t & v t <= W].

(* Every person adds a point under the parabola. *)
Lemma below_parabola T (u v : T -> R) : 0 <= W -> weighs u v ->
  [/\ 0 <= \sum_t u t, \sum_t u t <= W, 0 <= total u v true &
      total u v true <= 3%:R * (\sum_t u t) * (W - \sum_t u t)].
Proof.
move=> W0 uv; set x := \sum_t u t.
have u0 t : 0 <= u t by case: (uv t).
have x0 : 0 <= x by apply: sumr_ge0.
have card0 (F : T -> R) : #|T| = 0%N -> \sum_t F t = 0.
  by move=> T0; rewrite big1 // => t _; have := fintype0 t T0.
have square : x ^+ 2 <= #|T|%:R * \sum_t u t ^+ 2.
  have := @weighted_cauchy R T (fun=> 1) (fun=> 1) u (fun=> ler01).
  under eq_bigr do rewrite !mul1r; under [X in _ <= X * _]eq_bigr do rewrite mul1r expr1n.
  by under [X in _ <= _ * X]eq_bigr do rewrite mul1r; rewrite sumr_const.
have xW : x <= W.
  have [T0|T0] := posnP #|T|; first by rewrite /x card0.
  rewrite -(ler_pmul2l (_ : 0 < #|T|%:R)) ?ltr0n // mulr_sumr.
  have -> : #|T|%:R * W = \sum_(t : T) W by rewrite sumr_const mulr_natl.
  apply: ler_sum => t _.
  by case: (uv t) => _ uvt vW; apply: le_trans vW.
split=> //.
  by rewrite mulr_ge0 ?ler0n // sumr_ge0 // => t _; case: (uv t) => ? _ vW; rewrite mulr_ge0 ?subr_ge0.
rewrite /total -mulrA; apply: ler_wpmul2l; first exact: ler0n.
apply: (@le_trans _ _ (x * W - #|T|%:R * \sum_t u t ^+ 2)).
  rewrite mulr_suml mulr_sumr -sumrB; apply: ler_sum => t _.
  rewrite mulrBr ler_add2l ler_opp2 expr2 mulrCA; apply: ler_wpmul2l => //.
  by case: (uv t).
by rewrite mulrBr ler_add2l ler_opp2 -expr2.
Qed.

(* With p = W - q the difference is p (p^3 + q^3 + q (2p - q)^2). *)
Lemma quartic (q : R) : 0 <= q -> q <= W -> W ^+ 2 * q ^+ 2 + (3%:R * q * (W - q)) ^+ 2 <= W ^+ 4.
Proof.
move=> q0 qW; pose p := W - q; have p0 : 0 <= p by rewrite subr_ge0.
have -> : W = p + q by rewrite /p subrK.
rewrite addrK -subr_ge0.
have -> : (p + q) ^+ 4 - ((p + q) ^+ 2 * q ^+ 2 + (3%:R * q * p) ^+ 2)
        = p * (p ^+ 3 + q ^+ 3 + q * (2%:R * p - q) ^+ 2) by ring.
apply: mulr_ge0 => //; apply: addr_ge0; last by rewrite mulr_ge0 ?sqr_ge0.
by rewrite addr_ge0 ?exprn_ge0.
Qed.

Lemma under_parabola (x y x' y' : R) : 0 <= x -> x <= W -> 0 <= x' -> x' <= W ->
  0 <= y -> y <= 3%:R * x * (W - x) -> 0 <= y' -> y' <= 3%:R * x' * (W - x') ->
  (W * x - W * x') ^+ 2 + (y - y') ^+ 2 <= W ^+ 4.
Proof.
move=> x0 xW x'0 x'W y0 yx y'0 y'x.
wlog y'y : x y x' y' x0 xW x'0 x'W y0 yx y'0 y'x / y' <= y.
  move=> H; have [yy|/ltW yy] := leP y' y; first exact: H.
  by rewrite -[W * x - _]opprB -[y - _]opprB !sqrrN; apply: H.
rewrite -mulrBr exprMn.
pose q := Num.max x (W - x).
have qx : x <= q by rewrite le_maxr lexx.
have qWx : W - x <= q by rewrite le_maxr lexx orbT.
have qW : q <= W by rewrite le_maxl xW ler_subl_addr ler_addl x0.
have q0 : 0 <= q by apply: le_trans qx.
have qq : x * (W - x) = q * (W - q).
  by rewrite /q; have [_|_] := leP x (W - x); ring.
apply: le_trans (quartic q0 qW); apply: ler_add.
  apply: ler_wpmul2l; first exact: sqr_ge0.
  rewrite -[(x - x') ^+ 2]real_normK ?num_real // ler_sqr ?nnegrE ?normr_ge0 //.
  rewrite ler_norml ler_oppl opprB; apply/andP; split.
    by apply: le_trans qWx; rewrite ler_add2r.
  by apply: le_trans qx; rewrite ler_subl_addr ler_addl.
rewrite ler_sqr ?nnegrE ?subr_ge0 //; last by rewrite -mulrA !mulr_ge0 ?ler0n ?subr_ge0.
rewrite -mulrA -qq mulrA; apply: le_trans yx.
by rewrite ler_subl_addr ler_addl.
Qed.

Theorem total_replaced S T (u v : S -> R) (u' v' : T -> R) : 0 <= W -> weighs u v -> weighs u' v' ->
  sq (fun b => total u v b - total u' v' b) <= W ^+ 4.
Proof.
move=> W0 uv uv'; have [? ? ? ?] := below_parabola W0 uv; have [? ? ? ?] := below_parabola W0 uv'.
by rewrite /sq big_bool /= addrC; apply: under_parabola.
Qed.

Theorem total_added T (u v : T -> R) : 0 <= W -> weighs u v -> sq (total u v) <= W ^+ 4.
Proof.
move=> W0 uv; have [x0 xW y0 yx] := below_parabola W0 uv.
have zero : 0 <= 3%:R * 0 * (W - 0) by rewrite mulr0 mul0r.
have := @under_parabola _ _ 0 0 x0 xW (lexx 0) W0 y0 yx (lexx 0) zero.
by rewrite mulr0 !subr0 /sq big_bool /= addrC.
Qed.

End Weights.
