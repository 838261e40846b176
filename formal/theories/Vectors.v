(* Sums of squares, and the two inequalities of Cauchy and Schwarz on which everything rests: without roots and without
   division, so that they hold in the integers as in any ordered integral domain. A vector is a function I -> R. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
Import Order.Theory GRing.Theory Num.Theory.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Local Open Scope ring_scope.

Section Vectors.
Variable R : realDomainType.
Implicit Types I J T : finType.

Definition sq I (x : I -> R) : R := \sum_i x i ^+ 2.
Definition dot I (x y : I -> R) : R := \sum_i x i * y i.

Lemma sq_ge0 I (x : I -> R) : 0 <= sq x.
Proof. by apply: sumr_ge0 => i _; apply: sqr_ge0. Qed.

Lemma eq_sq I (x y : I -> R) : (forall i, x i = y i) -> sq x = sq y.
Proof. by move=> e; apply: eq_bigr => i _; rewrite e. Qed.

Lemma sq_scale I a (x : I -> R) : sq (fun i => a * x i) = a ^+ 2 * sq x.
Proof. by rewrite mulr_sumr; apply: eq_bigr => i _; rewrite exprMn. Qed.

Lemma sq0 I : sq (fun _ : I => 0) = 0.
Proof. by rewrite /sq big1 // => i _; rewrite expr0n. Qed.

(* With weights: (sum w a b)^2 <= (sum w a^2) (sum w b^2), because twice the difference is a sum of squares. *)
Lemma weighted_cauchy I (w a b : I -> R) : (forall i, 0 <= w i) ->
  (\sum_i w i * (a i * b i)) ^+ 2 <= (\sum_i w i * a i ^+ 2) * (\sum_i w i * b i ^+ 2).
Proof.
move=> w0; set A := \sum_i w i * a i ^+ 2; set B := \sum_i w i * b i ^+ 2; set C := \sum_i _.
have twice : 2%:R * (A * B - C ^+ 2) = \sum_i \sum_j w i * w j * (a i * b j - a j * b i) ^+ 2.
  have AB : A * B = \sum_i \sum_j w i * w j * (a i ^+ 2 * b j ^+ 2).
    by rewrite big_distrlr; apply: eq_bigr => i _; apply: eq_bigr => j _ /=; ring.
  have BA : A * B = \sum_i \sum_j w i * w j * (a j ^+ 2 * b i ^+ 2) by rewrite AB exchange_big;
    apply: eq_bigr => i _; apply: eq_bigr => j _ /=; ring.
  have CC : C ^+ 2 = \sum_i \sum_j w i * w j * (a i * b i * (a j * b j)).
    by rewrite expr2 big_distrlr; apply: eq_bigr => i _; apply: eq_bigr => j _ /=; ring.
  rewrite mulr_natl mulr2n {1}AB BA CC -2!sumrB -big_split; apply: eq_bigr => i _.
  rewrite -2!sumrB -big_split; apply: eq_bigr => j _ /=; ring.
have : 0 <= 2%:R * (A * B - C ^+ 2).
  by rewrite twice; apply: sumr_ge0 => i _; apply: sumr_ge0 => j _; rewrite mulr_ge0 ?sqr_ge0 // mulr_ge0.
by rewrite pmulr_rge0 ?ltr0n // subr_ge0.
Qed.

Lemma cauchy I (x y : I -> R) : dot x y ^+ 2 <= sq x * sq y.
Proof.
have := @weighted_cauchy I (fun=> 1) x y (fun=> ler01).
by under eq_bigr do rewrite mul1r; under [X in _ <= X * _]eq_bigr do rewrite mul1r;
   under [X in _ <= _ * X]eq_bigr do rewrite mul1r.
Qed.

(* Jensen: the square of a weighted sum of vectors, by the squares of the vectors. *)
Lemma sq_weighted I T (w : T -> R) (f : T -> I -> R) (D : R) : (forall t, 0 <= w t) -> (forall t, sq (f t) <= D) ->
  sq (fun i => \sum_t w t * f t i) <= (\sum_t w t) ^+ 2 * D.
Proof.
move=> w0 fD; set W := \sum_t w t; have W0 : 0 <= W by apply: sumr_ge0.
apply: (@le_trans _ _ (W * \sum_t w t * sq (f t))).
  rewrite mulr_sumr (eq_bigr (fun t => \sum_i W * (w t * f t i ^+ 2))); last first.
    by move=> t _; rewrite /sq 2!mulr_sumr.
  rewrite exchange_big; apply: ler_sum => i _; rewrite -mulr_sumr.
  have := @weighted_cauchy T w (fun=> 1) (f^~ i) w0.
  under eq_bigr do rewrite mul1r; under [X in _ <= X * _]eq_bigr do rewrite expr1n mulr1.
  by [].
rewrite expr2 -mulrA; apply: ler_wpmul2l => //; rewrite mulr_suml; apply: ler_sum => t _.
exact: ler_wpmul2l.
Qed.

(* (a + b)^2, where squares of a and b are known: rooms r and s of balls add up. *)
Lemma sq_add I (x y : I -> R) (r s : R) : 0 <= r -> 0 <= s -> sq x <= r ^+ 2 -> sq y <= s ^+ 2 ->
  sq (fun i => x i + y i) <= (r + s) ^+ 2.
Proof.
move=> r0 s0 xr ys; have -> : sq (fun i => x i + y i) = sq x + sq y + 2%:R * dot x y.
  by rewrite /sq /dot mulr_sumr -2!big_split; apply: eq_bigr => i _ /=; ring.
have xy : dot x y <= r * s.
  rewrite -[r * s]ger0_norm ?mulr_ge0 //; apply: le_trans (ler_norm _) _.
  rewrite -ler_sqr ?nnegrE ?normr_ge0 // !real_normK ?num_real //.
  by rewrite exprMn; apply: le_trans (cauchy x y) _; apply: ler_pmul; rewrite ?sq_ge0.
have -> : (r + s) ^+ 2 = r ^+ 2 + s ^+ 2 + 2%:R * (r * s) by ring.
by rewrite ler_add ?ler_add // ler_wpmul2l // ler0n.
Qed.

Lemma sq_sub I (x y : I -> R) (r s : R) : 0 <= r -> 0 <= s -> sq x <= r ^+ 2 -> sq y <= s ^+ 2 ->
  sq (fun i => x i - y i) <= (r + s) ^+ 2.
Proof.
move=> r0 s0 xr ys; apply: (@sq_add I x (fun i => - y i)) => //.
by rewrite /sq; under eq_bigr do rewrite sqrrN.
Qed.

(* Squares of vectors that have no negative coordinate: a sum of squares is at most the square of the sum. *)
Lemma sum_sqr_le I (x : I -> R) : (forall i, 0 <= x i) -> sq x <= (\sum_i x i) ^+ 2.
Proof.
move=> x0; rewrite expr2 mulr_suml; apply: ler_sum => i _; rewrite expr2; apply: ler_wpmul2l => //.
by rewrite (bigD1 i) //= ler_addl; apply: sumr_ge0.
Qed.

End Vectors.
